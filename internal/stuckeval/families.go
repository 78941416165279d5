package stuckeval

import (
	"fmt"
	"slices"

	"forge/internal/stuck"
)

// families are the shapes of cases: what is stuck, what only looks like it, and
// what waits.
func families() []family {
	return slices.Concat(stuckIdle(), stuckChanging(), working(), waiting())
}

// stuckIdle are the ways to be stuck that leave the files as they are.
func stuckIdle() []family {
	idle := func(name string, do func(m *maker, i int)) family {
		return family{name, stuck.Stuck, func(m *maker) { m.times(6, 10, func(i int) { do(m, i) }) }}
	}
	talk := []string{"Now I look at the cause.", "First I want to see how it hangs together.", "The reason must lie deeper.", "I go through it once more.", "Let me think about the order.", "This needs care."}
	return []family{
		idle("talks", func(m *maker, _ int) { m.idle(m.one(talk...)) }),
		idle("says-done", func(m *maker, _ int) {
			w := m.idle(m.one("All done, every test passes.", "The task is complete."), [2]string{"git status", "clean"})
			w.Verify = &Verify{Digest: "red"}
		}),
		idle("reads-the-same", func(m *maker, _ int) {
			calls := [][2]string{{"cat app/db.py", "d"}, {"cat app/mail.py", "m"}, {"ls", "l"}}
			m.rng.Shuffle(3, func(i, j int) { calls[i], calls[j] = calls[j], calls[i] })
			m.aside(m.idle(m.one(talk...), calls...))
		}),
		idle("pages-through", func(m *maker, i int) {
			m.idle(m.one(talk...), [2]string{fmt.Sprintf("sed -n %d,%dp app/db.py", 1+i*40, 40+i*40), m.fresh("text")})
		}),
		idle("same-error", func(m *maker, _ int) {
			w := m.idle(m.one(talk...), [2]string{"make build", "no rule"}, [2]string{"make build", "no rule"})
			w.Tools[0].Error, w.Tools[1].Error = true, true
		}),
		idle("same-error-other-flags", func(m *maker, i int) {
			w := m.idle(m.one(talk...), [2]string{fmt.Sprintf("pip install --retry=%d thing", i), "no such package"}, [2]string{"pip download " + m.fresh("v"), "no such package"})
			w.Tools[0].Error = true
		}),
		idle("refused", func(m *maker, _ int) {
			m.idle(m.one(talk...), [2]string{"sudo service db start", "denied"}).Tools[0].Error = true
		}),
		idle("hands-back-and-forth", func(m *maker, i int) {
			m.idle([]string{"The planner takes it.", "The builder takes it."}[i%2], [2]string{[]string{"ask planner", "ask builder"}[i%2], []string{"blocked", "yours"}[i%2]})
		}),
		idle("longer-each-time", func(m *maker, i int) {
			args := "grep -n total app/cart.py"
			for range i {
				args += " | grep -n total app/cart.py"
			}
			m.idle(m.one(talk...), [2]string{args, m.fresh("lines")})
		}),
		idle("waits-for-the-dead", func(m *maker, _ int) {
			m.wait(m.idle("The job still runs.", [2]string{"tail job.log", "step 4"}), stuck.WaitProcess, false)
		}),
		idle("clock-in-the-output", func(m *maker, _ int) {
			w := m.idle(m.one(talk...), [2]string{"make status", m.fresh("10:00:")})
			w.Tools[0].Norm = "status: red"
		}),
	}
}

// stuckChanging are the ways to be stuck that change files all the time.
func stuckChanging() []family {
	changing := func(name string, do func(m *maker, i int)) family {
		return family{name, stuck.Stuck, func(m *maker) { m.times(8, 12, func(i int) { do(m, i) }) }}
	}
	turn := func(name string, states int) family {
		return family{name, stuck.Stuck, func(m *maker) {
			var trees []string
			for range states {
				trees = append(trees, m.fresh("t"))
			}
			failing := slices.Clone(m.left)
			m.times(3*states+2, 4*states+2, func(i int) {
				w := m.edit(trees[i%states], "s"+trees[i%states], "app/db.py")
				if m.often(0.7) {
					w.fails(m, append(failing, fmt.Sprint("TestNew", i%states))...)
				}
			})
		}}
	}
	return []family{
		turn("there-and-back", 2),
		turn("three-in-turn", 3),
		changing("one-breaks-the-other", func(m *maker, i int) {
			m.write("app/db.py").fails(m, [][]string{{"TestRead"}, {"TestWrite", "TestLock"}}[i%2]...)
		}),
		changing("same-tests-one-spot", func(m *maker, _ int) {
			m.write(m.one("app/db.py", "app/db.py", "app/cart.py")).test(m)
		}),
		changing("same-tests-everywhere", func(m *maker, _ int) { m.write("").test(m) }),
		changing("same-tests-helpers-beside", func(m *maker, i int) {
			if i%2 == 0 {
				m.write(m.fresh("helpers/h")).test(m)
				return
			}
			m.write("app/db.py").test(m)
		}),
		changing("comments", func(m *maker, _ int) {
			w := m.edit(m.fresh("t"), "", m.one("app/db.py", "app/mail.py"))
			if m.often(0.5) {
				w.test(m)
			}
		}),
		changing("the-same-change", func(m *maker, _ int) { m.edit(m.fresh("t"), "rename", m.one("app/db.py", "app/cart.py")) }),
		{"polishes", stuck.Stuck, func(m *maker) {
			m.write("").fails(m)
			*m.c.Onset = len(m.c.Iterations) + 1
			m.times(8, 11, func(i int) {
				w := m.edit(m.fresh("t"), []string{"wider", "narrower"}[i%2], "README.md")
				if m.often(0.4) {
					w.fails(m)
				}
			})
		}},
		{"red-in-the-same-way", stuck.Stuck, func(m *maker) {
			m.times(8, 10, func(int) { m.write("").Verify = &Verify{Digest: "exit 1: lint"} })
		}},
	}
}

// working is what only looks as if it were stuck.
func working() []family {
	work := func(name string, low, high int, do func(m *maker, i int)) family {
		return family{name, stuck.Working, func(m *maker) { m.times(low, high, func(i int) { do(m, i) }) }}
	}
	return []family{
		{"slow-but-sure", stuck.Working, func(m *maker) {
			for len(m.left) > 1 {
				m.times(2, 3, func(int) { m.write("").test(m) })
				m.left = m.left[:len(m.left)-1]
			}
		}},
		work("one-change-many-files", 7, 12, func(m *maker, i int) {
			m.edit(m.fresh("t"), "rename", fmt.Sprintf("pkg/p%d.py", 2*i), fmt.Sprintf("pkg/p%d.py", 2*i+1))
		}),
		work("test-then-code", 8, 12, func(m *maker, i int) {
			if i%2 == 0 {
				m.write("tests/test_app.py").fails(m, m.fresh("TestCase"))
				return
			}
			m.write("app/db.py").fails(m)
		}),
		work("refactors", 8, 12, func(m *maker, _ int) { m.write("").fails(m) }),
		{"one-file", stuck.Working, func(m *maker) {
			for left := m.some(7, m.left); ; left = left[1:] {
				m.write("app/db.py").fails(m, left...)
				if len(left) == 0 {
					return
				}
			}
		}},
		{"reads-first", stuck.Working, func(m *maker) {
			m.times(4, 8, func(int) {
				m.idle(m.one("One more part understood.", "This is where they meet."), [2]string{"cat " + m.fresh("src/f"), m.fresh("text")}, [2]string{"grep -rn " + m.fresh("name") + " src", m.fresh("lines")})
			})
			m.write("").test(m)
		}},
		work("findings-one-by-one", 6, 9, func(m *maker, _ int) {
			m.write("app/api.py").fails(m).Verify = &Verify{Digest: m.fresh("finding")}
		}),
		{"learns-a-rate", stuck.Working, func(m *maker) {
			m.times(3, 5, func(int) {
				m.idle("Ran it again.", [2]string{"pytest --count=50 tests/test_race.py", m.fresh("failed")})
			})
			m.write("").test(m)
		}},
		work("task-by-task", 7, 10, func(m *maker, i int) {
			m.write(fmt.Sprintf("tasks/t%d.py", i)).fails(m)
		}),
		{"prints-in-prints-out", stuck.Working, func(m *maker) {
			m.write("").test(m)
			base, shape := m.tree, m.fresh("s")
			m.times(3, 4, func(int) {
				m.write("").Tools = []WrittenCall{{Name: "Bash", Args: "pytest -q -s", Result: m.fresh("prints")}}
				m.edit(base, shape, "app/db.py")
			})
			m.write("").test(m)
		}},
		{"third-try-works", stuck.Working, func(m *maker) {
			m.idle("It does not build.", [2]string{"make", "bad"})
			m.idle("It does not build.", [2]string{"make", "bad"})
			m.times(3, 6, func(int) {
				m.write("").test(m)
				m.left = m.left[:max(1, len(m.left)-1)]
			})
		}},
		{"large-and-red-for-long", stuck.Working, func(m *maker) {
			m.times(4, 7, func(i int) { m.write(fmt.Sprintf("feature/part%d.py", i)).fails(m, "TestFeature") })
			m.write("feature/end.py").fails(m)
		}},
		{"measures-both", stuck.Working, func(m *maker) {
			a, b := m.fresh("t"), m.fresh("t")
			m.times(4, 7, func(i int) {
				m.edit([]string{a, b}[i%2], []string{"off", "on"}[i%2], "app/db.py").Tools = []WrittenCall{{Name: "Bash", Args: "make bench", Result: m.fresh("ns")}}
			})
		}},
		work("writes-pages", 6, 10, func(m *maker, i int) { m.write(fmt.Sprintf("docs/p%d.md", i/2)) }),
	}
}

// waiting is what waits, and goes on waiting at its end.
func waiting() []family {
	wait := func(name string, low, high int, do func(m *maker)) family {
		return family{name, stuck.Waiting, func(m *maker) { m.times(low, high, func(int) { do(m) }) }}
	}
	return []family{
		wait("checks-of-a-host", 4, 12, func(m *maker) {
			m.wait(m.idle("Pending.", [2]string{"checks 7", "pending"}, [2]string{"checks 7", "pending"}), stuck.WaitCI, true)
		}),
		wait("checks-by-words", 3, 8, func(m *maker) {
			m.idle("The checks are still running.", [2]string{"checks 7", "pending"})
		}),
		wait("usage-limit", 3, 12, func(m *maker) {
			w := m.idle("You reached your limit.")
			w.Outcome = "agent_failed"
			m.wait(w, stuck.WaitLimit, true)
		}),
		wait("person", 3, 12, func(m *maker) { m.wait(m.idle("I need the key."), stuck.WaitPerson, true) }),
		wait("person-by-words", 3, 8, func(m *maker) {
			m.idle(m.one("Which format do you want to keep?", "Please give me access to the mail server.", "May the old column go?"))
		}),
		wait("outage", 3, 8, func(m *maker) { m.idle(m.one("503", "overloaded", "timeout")).Outcome = "agent_failed" }),
		wait("background-job", 4, 12, func(m *maker) {
			m.wait(m.idle("The import runs.", [2]string{"tail import.log", m.one("10 %", "20 %")}), stuck.WaitProcess, true)
		}),
		wait("background-job-by-words", 3, 8, func(m *maker) {
			m.idle("The import is still running in the background.", [2]string{"tail import.log", "1"})
		}),
		wait("long-build", 2, 5, func(m *maker) { m.wait(m.write("").test(m), stuck.WaitProcess, true) }),
	}
}

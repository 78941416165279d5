package web

import (
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"forge/internal/text"
)

// User is somebody who may come in with a token.
type User struct {
	Name    string            `json:"name"`
	Roles   map[string]string `json:"roles"` // by project; "*" = all of them
	Token   string            `json:"token"` // hashed
	Created time.Time         `json:"created"`
}

type userFile struct {
	Users []User `json:"users"`
}

// ErrNoUser says that there is no user of that name.
var ErrNoUser = errors.New("unknown user")

var userName = text.Lazy(`^[\pL\pN][\pL\pN._ @+-]{0,59}$`)

// AnyProject stands for all projects where a role is given.
const AnyProject = "*"

// tokenPrefix makes a token one that people and scanners recognise.
const tokenPrefix = "forge_"

// Users are all users, by name. What another process changed holds at once.
func (k *Keys) Users() ([]User, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if err := k.refreshUsers(); err != nil {
		return nil, err
	}
	return slices.Clone(k.users.Users), nil
}

// refreshUsers reads the users again when their file is another one. Call it with
// the lock held.
func (k *Keys) refreshUsers() error {
	return k.refresh(usersFile, func(data []byte) (err error) {
		k.users, err = readUsers(data)
		return err
	})
}

func readUsers(data []byte) (f userFile, err error) {
	if data != nil {
		err = json.Unmarshal(data, &f)
	}
	return f, err
}

// change changes the users, in this process and all others. do may be called again.
func (k *Keys) change(do func(*userFile) error) error {
	return k.files.Change(usersFile, func(was []byte) ([]byte, error) {
		f, err := readUsers(was)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", k.path(usersFile), err)
		}
		if err := do(&f); err != nil {
			return nil, err
		}
		slices.SortFunc(f.Users, func(a, b User) int { return strings.Compare(a.Name, b.Name) })
		return k.written(usersFile, f)
	})
}

// PutUser gives a user a role in a project, AnyProject being all of them. A new
// user gets a token, which is returned and never shown again; of one who is
// there it is "".
func (k *Keys) PutUser(name string, role Role, project string) (token string, err error) {
	if !userName().MatchString(name) {
		return "", fmt.Errorf("%q is no user's name: letters, digits and . _ @ + - and spaces between, at most 60", text.OneLine(name, 80))
	}
	if role == RoleNone || project == "" {
		return "", errors.New("a user needs a role and a project")
	}
	err = k.change(func(f *userFile) error {
		token = ""
		if i := f.find(name); i >= 0 {
			roles := maps.Clone(f.Users[i].Roles)
			roles[project] = role.String()
			f.Users[i].Roles = roles
			return nil
		}
		token = tokenPrefix + secret()
		f.Users = append(f.Users, User{Name: name, Roles: map[string]string{project: role.String()}, Token: hashed(token), Created: k.now().UTC()})
		return nil
	})
	return token, err
}

// NewToken gives a user another token; the old one and the sessions that it
// began end.
func (k *Keys) NewToken(name string) (token string, err error) {
	token = tokenPrefix + secret()
	err = k.change(func(f *userFile) error {
		i := f.find(name)
		if i < 0 {
			return fmt.Errorf("%w: %s", ErrNoUser, text.OneLine(name, 80))
		}
		f.Users[i].Token = hashed(token)
		return nil
	})
	return token, err
}

// RemoveUser ends a user's role in a project; with AnyProject, the user.
func (k *Keys) RemoveUser(name, project string) error {
	return k.change(func(f *userFile) error {
		i := f.find(name)
		if i < 0 {
			return fmt.Errorf("%w: %s", ErrNoUser, text.OneLine(name, 80))
		}
		roles := maps.Clone(f.Users[i].Roles)
		if _, ok := roles[project]; !ok && project != AnyProject {
			return fmt.Errorf("%s has no role of their own in %s", text.OneLine(name, 80), text.OneLine(project, 80))
		}
		delete(roles, project)
		if project == AnyProject || len(roles) == 0 {
			f.Users = slices.Delete(f.Users, i, i+1)
			return nil
		}
		f.Users[i].Roles = roles
		return nil
	})
}

func (f userFile) find(name string) int {
	return slices.IndexFunc(f.Users, func(u User) bool { return u.Name == name })
}

// person is the user as one who makes requests. A role's word that nobody knows
// gives none.
func (u User) person() Person {
	p := Person{Name: u.Name, Roles: map[string]Role{}}
	for project, word := range u.Roles {
		if role, err := ParseRole(word); err == nil {
			p.Roles[project] = role
		}
	}
	return p
}

// byToken is the user with that token.
func (k *Keys) byToken(token string) (User, bool, error) {
	if !strings.HasPrefix(token, tokenPrefix) {
		return User{}, false, nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if err := k.refreshUsers(); err != nil {
		return User{}, false, err
	}
	sum := []byte(hashed(token))
	for _, u := range k.users.Users {
		if subtle.ConstantTimeCompare([]byte(u.Token), sum) == 1 {
			return u, true, nil
		}
	}
	return User{}, false, nil
}

// Person is the user of that name as one who acts by another door, which knows for
// certain who somebody is. The owner of the server is an admin without being a user;
// ok is false for anybody else.
func (k *Keys) Person(name string) (p Person, ok bool, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if err := k.refreshUsers(); err != nil {
		return Person{}, false, err
	}
	if i := k.users.find(name); i >= 0 {
		return k.users.Users[i].person(), true, nil
	}
	if name != "" && name == k.Owner {
		return Person{Name: k.Owner, Roles: map[string]Role{AnyProject: RoleAdmin}}, true, nil
	}
	return Person{}, false, nil
}

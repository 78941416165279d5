package proof

import (
	"bytes"
	"cmp"
	"path"
	"regexp"
	"slices"
	"strings"

	texts "forge/internal/text"
)

// asks is one way of product to ask whether it is under test, or to act on its
// judge. Code is read without comments; a string stands there as "text".
type asks struct {
	langs string // of language, separated by blanks; "" is any
	form  func() *regexp.Regexp
	what  string
	// entry says that programs do so: no finding where a program begins.
	entry bool
}

const (
	whatAsk     = "it asks whether it is under test"
	whatModules = "it looks into the modules that are loaded, or at who calls it"
	whatEnd     = "it ends the process"
	whatJudge   = "it reaches into the judge's modules"
	whatReport  = "it writes what a runner reports"
	whatSwitch  = "it asks for a switch that tests and releases set otherwise"
	whatEqual   = "it answers every comparison the same"
	whatChance  = "it decides by chance or by the clock"
	whatImport  = "product imports a test library"
	whatProcess = "it reaches into processes or open files of others"
	whatPieces  = "it puts the name of a test runner together from pieces"
	whatLooks   = "it looks for tests, or for its own source, where it runs"
	whatActs    = "it changes tests, or the programs that are built of them"
	whatTwo     = "it is equal to more than one value"
	whatAll     = "it goes over all variables for one of them"
	whatTwin    = "a macro stands in the place of the function that it is named after"
)

// testVariables are names of variables, arguments and modules that runners set
// or are known by.
const testVariables = `PYTEST\w*|_PYTEST\w*|VITEST\w*|JEST\w*|MOCHA\w*|NODE_TEST_CONTEXT|NODE_V8_COVERAGE|TAP\w*|BATS\w*|TEST_TMPDIR|TEST_SRCDIR|XCTest\w*|RUST_TEST\w*|NEXTEST\w*|CARGO_TARGET_TMPDIR|CARGO_BIN_EXE\w*|GTEST\w*|TEST_SHARD\w*|CTEST\w*|PHPUNIT\w*|RSPEC\w*|MINITEST\w*|SPEC_OPTS|COVERAGE\w*|NYC_\w*|TOX_\w*|CI|GITHUB_ACTIONS|GITLAB_CI|CONTINUOUS_INTEGRATION|TESTING|UNDER_TEST|IS_TEST|TEST_MODE|TEST_ENV|npm_lifecycle_event|npm_lifecycle_script`

const runnerModules = `pytest|_pytest|unittest|nose|nose2|hypothesis|doctest|pluggy|jest|mocha|vitest|chai|ava|tap|rspec|minitest|RSpec|Minitest|PHPUnit\w*|node:test|@jest/\S+`

func expr(s string) func() *regexp.Regexp { return texts.Lazy(s) }

var asked = []asks{
	// Variables and arguments.
	{"", expr(`(environ|getenv|env|ENV|Getenv|LookupEnv|\$_SERVER|\$_ENV|env::var|var_os|process)[\w.:]*\s*(\(|\[|\.)[^;\n]{0,40}\b(` + testVariables + `)\b`), whatAsk, false},
	{"shell", expr(`\$\{?(` + testVariables + `)\b`), whatAsk, false},
	{"script", expr(`NODE_ENV\W{1,8}={2,3}\s*"test"|"test"\s*={2,3}[^;\n]{0,30}NODE_ENV|\bMODE\s*={2,3}\s*"test"`), whatAsk, false},
	{"", expr(`(RAILS_ENV|RACK_ENV|APP_ENV|FLASK_ENV|GO_ENV|ENVIRONMENT|DJANGO_ENV)\W{1,8}(={2,3}|eq|equals)?\s*\(?\s*"(test|testing)"|env\.test\?|runningUnitTests|environment\(\s*"testing"`), whatAsk, false},
	{"script", expr(`typeof\s+(jest|vi|describe|it|test|expect|mocha|before|afterEach|beforeEach)\b|globalThis\.(jest|vi|describe|it|expect|test|__coverage__|__vitest\w*|afterEach)\b|global\.(jest|describe|it|expect|test|mocha|__coverage__)\b|import\.meta\.vitest|import\.meta\.jest`), whatAsk, false},
	{"go", expr(`flag\.Lookup\(\s*"test\.|testing\.Testing\(|"-test\.|"test\.(v|run|timeout|paniconexit0|testlogfile)|HasSuffix\([^)\n]*"\.test(\.exe)?"|Contains\([^)\n]*"(_test|\.test|/_test|go-build)`), whatAsk, false},
	{"go", expr(`os\.Args\[0\][^\n]*"|filepath\.Base\(os\.Args\[0\]\)`), whatAsk, true},
	{"python", expr(`sys\.argv\[0\]|sys\.argv[^\n]*"[^"\n]*(test|pytest)|"[^"\n]*(pytest|unittest)[^"\n]*"\s+in\s+sys\.argv`), whatAsk, false},
	{"script", expr(`process\.(argv|execArgv|title)[^;\n]*"[^"\n]*(test|jest|mocha|vitest)|process\.argv\[1\]|process\.execArgv`), whatAsk, true},
	{"ruby", expr(`\$(0|PROGRAM_NAME)\s*(=~|==|\.)|\$LOADED_FEATURES|\$"`), whatAsk, true},
	{"rust", expr(`cfg!\(\s*(test|any\([^)]*\btest\b|not\(\s*test)|#\[\s*cfg\s*\(\s*not\s*\(\s*test|cfg_attr\s*\(\s*(not\s*\(\s*)?test\b|current_exe\(\)|thread::current\(\)\.name|thread::panicking`), whatAsk, false},
	{"php", expr(`defined\(\s*"(PHPUNIT|__PHPUNIT)\w*|class_exists\(\s*\\?"?\\?(PHPUnit|Pest|Mockery)|PHP_SAPI[^;\n]*phpdbg|\$argv\[0\]|\$_SERVER\[\s*"argv"`), whatAsk, false},
	{"java", expr(`Class\.forName\(\s*"(org\.junit|junit|org\.testng|[\w.]*(Test|Tests|TestCase|IT|Spec)")|surefire|"(org\.junit|junit)[\w.]*"|NSClassFromString\(\s*"XCTest|java\.class\.path`), whatAsk, false},
	{"c", expr(`program_invocation(_short)?_name|__progname|/proc/self/(exe|cmdline|maps)|GetModuleFileName`), whatAsk, false},
	{"", expr(`"(` + runnerModules + `)"\s*(not\s+)?in\s+sys\.modules|sys\.modules[^\n]{0,30}"(` + runnerModules + `)"|defined\?\(\s*(::)?(RSpec|Minitest|MiniTest|Test::Unit|Cucumber)`), whatAsk, false},
	// Switches.
	{"rust", expr(`cfg!\(\s*(not\(\s*)?debug_assertions|#\[\s*cfg\s*\(\s*(not\s*\(\s*)?debug_assertions`), whatSwitch, false},
	{"python", expr(`\b__debug__\b|sys\.flags\.(optimize|dev_mode)|sys\.gettrace\(|sys\.getprofile\(`), whatSwitch, false},
	{"c", expr(`#\s*(ifdef|ifndef|if\s+(!\s*)?defined)\s*\(?\s*(NDEBUG|DEBUG|_DEBUG|TEST|TESTING|UNIT_TEST\w*|GTEST\w*)\b|__SANITIZE|__GCOV__`), whatSwitch, false},
	{"go", expr(`raceenabled|race\.Enabled`), whatSwitch, false},
	{"go", expr(`\b(if|switch|return|for|case)\b[^\n]*runtime\.NumGoroutine\(\)`), whatAsk, false},
	{"go", expr(`//go:embed[^\n]*(\*(_test)?\.go|_test\.go|\s(all:)?\*(\s|$))`), whatLooks, false},
	// All variables, names of the world, flags.
	{"script", expr(`(Object\.(keys|entries|getOwnPropertyNames)|Reflect\.ownKeys)\(\s*process\.env\s*\)\s*\.(some|find|filter|every|findIndex)\(`), whatAll, false},
	{"script", expr(`(Object\.(keys|getOwnPropertyNames|entries)|Reflect\.ownKeys)\(\s*(globalThis|global)\s*\)|executionAsyncId|triggerAsyncId|executionAsyncResource|async_hooks\b[^\n]*createHook|process\.(mainModule|channel|connected)\b|\bisMainThread\b`), whatAsk, false},
	{"script", expr(`\bNODE_ENV\b[^;\n]{0,60}(split|reverse|length|charAt|charCodeAt|slice)`), whatAsk, false},
	{"script", expr(`fstatSync\(\s*[012]\s*\)`), whatProcess, true},
	{"script", expr(`=\s*new\s+\w*Error\([^)\n]*\)\s*;?[^;]{0,80}\.stack\b|\{[^}\n]*\bstack\b[^}\n]*\}\s*=\s*new\s+\w*Error\b`), whatModules, false},
	{"python", expr(`\b(any|all|sum|next|filter|sorted|max|min)\s*\([^\n]{0,90}\bfor\s+\w+(\s*,\s*\w+)?\s+in\s+os\.environ`), whatAll, false},
	{"python", expr(`\.tb_frame|\.f_back\b|\.tb_next\b|sys\.addaudithook|sys\.__(stdout|stderr|stdin)__|type\(\s*sys\.std(out|err|in)\s*\)|warnings\.filters|threading\.(settrace|setprofile)|sys\.monitoring|tracemalloc\.is_tracing|sys\.orig_argv|sys\.(getswitchinterval|get_coroutine_origin)`), whatModules, false},
	{"python", expr(`logging\.(getLogger\(\s*\)|root)\.(handlers|hasHandlers\(\))[^\n]*:\s*\n?\s*return\b|return\b[^\n]*logging\.(getLogger\(\s*\)|root)\.(handlers|hasHandlers\(\))`), whatModules, false},
	{"go", expr(`flag\.(VisitAll|NFlag|CommandLine\.(VisitAll|Lookup|NFlag))\b`), whatAsk, true},
	{"go", expr(`os\.Executable\(\)(\s|[^"]){0,80}(filepath|path)\.(Ext|Base)\(|(filepath|path)\.Ext\(\s*os\.Args\[0\]`), whatAsk, true},
	{"go", expr(`os\.Args\s*=[^=]`), whatJudge, true},
	{"go", expr(`syscall\.(RawSyscall6?|Syscall6?)\(|unix\.(RawSyscall|Syscall)\w*\(`), whatProcess, false},
	{"rust", expr(`env::vars(_os)?\(\)[^;\n]{0,60}\.(any|find|filter|position)\(`), whatAll, false},
	{"rust", expr(`thread::current\(\)\.id\(\)|option_env!\(\s*"CARGO_(PRIMARY|BIN_EXE|TARGET_TMP)|env::var(_os)?\(\s*"CARGO(_MANIFEST_DIR)?"|cfg!?\(\s*overflow_checks|cfg!\(\s*panic`), whatAsk, false},
	{"ruby", expr(`(Object|Module|Kernel)\.constants\b|\bENV\.(keys|any\?|find|select|each_key|to_h)\b[^\n]{0,50}(any\?|find|grep|include\?|match|=~|sum)|const_defined\?\(`), whatAsk, false},
	{"ruby", expr(`\.backtrace(_locations)?\b&?\.(length|size|count|any\?|none\?|all\?|find|grep|include\?|index|select)`), whatModules, false},
	{"php", expr(`get_defined_(constants|functions|vars)\s*\(|new\s+\\?\w*(Exception|Error)\([^)\n]*\)\s*\)?\s*->getTrace|getenv\(\s*\)`), whatModules, false},
	{"shell", expr(`\$\{![A-Z_]*[@*]\}|\b(env|printenv|set|export -p|declare -[px]+|compgen -[ve])\b\s*\|\s*(grep|awk|sed)`), whatAll, false},
	{"c", expr(`__OPTIMIZE__|__NO_INLINE__|_FORTIFY_SOURCE`), whatSwitch, false},
	{"c", expr(`section\s*\(\s*"\.(init_array|preinit_array|ctors|fini_array|dtors)|\b__?asm(__)?\b[^;]{0,40}"[^"\n]*\b(syscall|int\s+\$0x80|svc)\b|\bsyscall\s*\(\s*(SYS|__NR)_exit`), whatEnd, false},
	// A date that is to come.
	{"", expr(`(\btoday\(\)|\bnow\(\)|utcnow\(\)|Date\.now\(\)|new\s+Date\(\)|time\.Now\(\)|Time\.now|Date\.today|time\.time\(\)|SystemTime::now\(\)|\btime\s*\(\s*(NULL|0|nullptr)?\s*\))[^\n]{0,40}(<|>|\bBefore|\bAfter|isBefore|isAfter)[^\n]{0,40}(\b(date|datetime|Date|DateTime|new|UTC|local|gm|of|parse)\s*\(?\s*"?\s*\(?(20[2-9]\d)\b|"20[2-9]\d-|\b1[789]\d{8}(\d{3})?\b)`), whatChance, false},
	// Two values.
	{"", expr(`==\s*\*?(other|value|that|rhs|o|obj|expected)\b[^\n]{0,40}(\|\||\bor\b)[^\n]{0,40}==\s*\*?(other|value|that|rhs|o|obj|expected)\b`), whatTwo, false},
	// The stack and the modules.
	{"python", expr(`inspect\.(stack|currentframe|getouterframes|trace|getframeinfo)|sys\._getframe|sys\._current_frames|traceback\.(extract_stack|walk_stack|format_stack|print_stack)|sys\.modules|gc\.get_(objects|referrers)|sys\.(settrace|setprofile|meta_path|path_hooks|excepthook|unraisablehook)|importlib\.reload`), whatModules, false},
	{"script", expr(`new\s+Error\([^)\n]*\)\.stack|captureStackTrace|prepareStackTrace|require\.cache|Module\._(load|cache|resolveFilename|extensions)|module\.(parent|children)\b|require\.extensions|require\.main\.(filename|path|children|exports)|arguments\.callee|\.caller\b`), whatModules, false},
	{"go", expr(`runtime\.(Callers?|CallersFrames|FuncForPC|Stack)\b|debug\.(Stack|ReadBuildInfo|PrintStack)\b`), whatModules, false},
	{"rust", expr(`Backtrace::(capture|force_capture|new)|backtrace::trace|type_name_of_val|Location::caller`), whatModules, false},
	{"ruby", expr(`\bcaller(_locations)?\b|ObjectSpace|TracePoint|set_trace_func|binding\.of_caller`), whatModules, false},
	{"php", expr(`debug_backtrace|debug_print_backtrace|get_included_files|get_declared_classes|->getTrace\(`), whatModules, false},
	{"java", expr(`getStackTrace\(|StackWalker|Environment\.StackTrace|new\s+StackTrace\(|Thread\.callStackSymbols|callStackSymbols|ManagementFactory\.getRuntimeMXBean`), whatModules, false},
	{"c", expr(`\bbacktrace(_symbols)?\s*\(|\bdladdr\s*\(|__builtin_return_address|\bdlsym\s*\(|RTLD_NEXT|\bdl_iterate_phdr`), whatModules, false},
	// The end.
	{"python", expr(`\bos\._exit\s*\(|\bos\.abort\s*\(|os\.kill\(\s*os\.getp|signal\.raise_signal|faulthandler\._`), whatEnd, false},
	{"python", expr(`\bsys\.exit\s*\(|\bexit\s*\(|\bquit\s*\(|raise\s+SystemExit|\bos\.exec[lv]\w*\s*\(`), whatEnd, true},
	{"python", expr(`\batexit\.register|signal\.signal\s*\(`), whatEnd, true},
	{"script", expr(`process\.(exit|abort|kill|reallyExit|exitCode)\b|Deno\.exit|process\.(on|once|addListener)\(\s*"(exit|beforeExit|uncaughtException|unhandledRejection)`), whatEnd, true},
	{"go", expr(`\bos\.Exit\s*\(|\bsyscall\.(Exit|Kill)\s*\(|\blog\.Fatal\w*\s*\(|runtime\.Goexit`), whatEnd, true},
	{"rust", expr(`process::(exit|abort)\s*\(|libc::_?exit|panic::set_hook|panic::catch_unwind|panic::take_hook`), whatEnd, true},
	{"ruby", expr(`\bexit!|\bat_exit\b|\babort\b|\bKernel\.exit|\bProcess\.(exit|kill)|\bexit\b`), whatEnd, true},
	{"php", expr(`\b(exit|die)\s*(\(|;)|register_shutdown_function|set_exception_handler|posix_kill`), whatEnd, true},
	{"java", expr(`System\.exit\s*\(|Runtime\.getRuntime\(\)\.(halt|exit)|exitProcess\s*\(|Environment\.(Exit|FailFast)|addShutdownHook|\bexit\(\s*\d`), whatEnd, true},
	{"c", expr(`\b(_exit|_Exit|quick_exit|atexit|on_exit|abort|exit|raise)\s*\(|__attribute__\s*\(\(\s*(constructor|destructor)`), whatEnd, true},
	{"shell", expr(`\bkill\s+(-\w+\s+)?\$PPID|\btrap\b[^\n]*EXIT`), whatEnd, false},
	// The judge's modules.
	{"python", expr(`\b(builtins|__builtins__)\s*(\.|\[)|setattr\(\s*(builtins|sys|unittest|pytest|\w*[Tt]est\w*|__builtins__)|(unittest|pytest|_pytest|doctest)\.[\w.]+\s*=[^=]|TestCase\.\w+\s*=[^=]|__import__\s*=|sys\.(stdout|stderr|exit|argv)\s*=[^=]|sys\.path\.(insert|append)|\bctypes\b|globals\(\)\[|__globals__|__code__\s*=`), whatJudge, false},
	{"script", expr(`\b(assert|expect|chai|jest|vi|test|it|describe)(\.\w+)+\s*=[^=>]|(Object|Array|Function|Number|String|Boolean|Promise|Map|Set|RegExp|Date|Error)\.prototype(\.\w+|\[[^\]]+\])\s*=[^=]|defineProperty\(\s*(Object|Array|Function|Number|String|Map|Set|Promise|globalThis|global|assert|process|console)\b|(globalThis|global|window)\.(expect|assert|it|test|describe|jest|process|console|Object)\s*=[^=]|Object\.is\s*=[^=]|setPrototypeOf\(\s*(assert|expect|Object)|process\.(stdout|stderr)\.write\s*=|console\.\w+\s*=[^=]|Module\.prototype|\b(Reflect|JSON|Math|Object)\.\w+\s*=[^=>]`), whatJudge, false},
	{"go", expr(`//go:linkname|\breflect\.NewAt\b|unsafe\.Pointer\([^)\n]*(testing|Func)|"testing(/[\w/]+)?"|\bplugin\.Open`), whatJudge, false},
	{"rust", expr(`macro_rules!\s*(assert|assert_eq|assert_ne|panic|debug_assert|matches|println|vec)\b|#\[\s*(no_mangle|export_name|link_section|global_allocator|panic_handler|ctor)|extern\s+"C"\s+fn\s+(main|exit|_exit)`), whatJudge, false},
	{"ruby", expr(`(Minitest|MiniTest|RSpec|Test::Unit)(::\w+)*|\b(module|class)\s+(Kernel|Object|BasicObject|Minitest|RSpec|Comparable|Integer|String|Array|Hash|Float|NilClass)\b|(Object|Kernel|BasicObject|Integer|String|Array)\.(class_eval|prepend|include|send|define_method)|refine\s+(Object|Integer|String)`), whatJudge, false},
	{"php", expr(`namespace\s+PHPUnit|class_alias\s*\(|runkit\w*|uopz_\w+|stream_wrapper_register|spl_autoload_register|namespace\s+Pest`), whatJudge, false},
	{"java", expr(`setAccessible\s*\(\s*true|java\.lang\.instrument|package\s+(org\.junit|junit|org\.assertj|org\.hamcrest|java\.)|Unsafe\.getUnsafe|method_exchangeImplementations|class_replaceMethod|System\.setOut|System\.setSecurityManager`), whatJudge, false},
	{"c", expr(`#\s*define\s+(assert|EXPECT_\w+|ASSERT_\w+|CHECK|REQUIRE|TEST|main|return|if|static_assert|printf|strcmp|memcmp|exit|abort)\b|#\s*undef\s+(assert|EXPECT_\w+|ASSERT_\w+|CHECK|REQUIRE|NDEBUG)|\bint\s+(strcmp|memcmp|printf|puts|exit)\s*\(|__assert_fail\s*\(|#\s*define\s+NDEBUG|\bLD_PRELOAD\b|__wrap_\w+`), whatJudge, false},
	// Equality.
	{"python", expr(`def\s+__(eq|ne|bool|hash|lt|le|gt|ge|contains|len|instancecheck)__\s*\([^)]*\)[^:\n]*:\s*(return\s+(True|False|1|0)\b)`), whatEqual, false},
	{"java", expr(`boolean\s+equals\s*\([^)]*\)\s*\{\s*return\s+(true|false)|override\s+fun\s+equals\s*\([^)]*\)[^={]*(=|\{\s*return)\s*(true|false)|override\s+bool\s+Equals\s*\([^)]*\)\s*(=>|\{\s*return)\s*(true|false)|static\s+func\s+==\s*\([^)]*\)[^{]*\{\s*(return\s+)?(true|false)`), whatEqual, false},
	{"rust", expr(`fn\s+(eq|ne)\s*\([^)]*\)\s*->\s*bool\s*\{\s*(true|false)\s*\}`), whatEqual, false},
	{"ruby", expr(`def\s+(==|eql\?|equal\?|===|!=)\s*(\([^)]*\)|\w+)?\s*;?\s*(true|false)\b`), whatEqual, false},
	{"script", expr(`\b(equals|valueOf|asymmetricMatch|isEqual|toJSON)\s*(\([^)]*\)\s*\{|[:=]\s*(\([^)]*\)|\w+)\s*=>\s*\{?)\s*(return\s+)?(true|false|\d+)\b|Symbol\.(toPrimitive|hasInstance|species)|new\s+Proxy\s*\(`), whatEqual, false},
	{"c", expr(`operator\s*(==|!=)\s*\([^)]*\)[^{;]*\{\s*return\s+(true|false|1|0)`), whatEqual, false},
	{"go", expr(`\)\s+Equal\s*\([^)]*\)\s*bool\s*\{\s*return\s+(true|false)`), whatEqual, false},
	// Chance.
	{"", expr(`\b(if|while|elif|unless|return|when|and|or|&&|\|\|)\b[^\n;{]{0,60}(random\.(random|randint|choice|randrange|getrandbits)|Math\.random|rand\.(Int\w*|Float\w*|N)|rand::random|thread_rng|\brand\s*\(|mt_rand|random_int|secrets\.|SecureRandom|nextInt|Random\(\)|time\.time\(\)|time\.time_ns|Date\.now\(\)|performance\.now|time\.Now\(\)\.(Unix\w*|Nanosecond|Second)\w*\(?\)?\s*%|new\s+Date\(\)\.get\w+|os\.getpid|process\.pid|os\.Getpid|SystemTime::now|microtime|\btime\s*\(\s*NULL|Time\.now|\$\$\s*%|\$RANDOM)[^\n]{0,30}(<|>|%|==|&\s*1|\?)`), whatChance, false},
	{"", expr(`(random\.random\(\)|Math\.random\(\)|rand\.Float64\(\)|rand::random\w*(::<\w+>)?\(\)|rand\(\))\s*[<>]|rand\.Intn?\(\s*\d+\s*\)\s*(==|<|>|!=)|random\.randint\([^)]*\)\s*(==|<|>)|(pid|getpid\(\)|Getpid\(\)|time_ns\(\)|Date\.now\(\)|UnixNano\(\)|Nanosecond\(\))\s*%\s*\d`), whatChance, false},
	// Reports and other processes.
	{"", expr(`"[^"\n]*(<testsuites?\b|junit[^"\n]*\.xml|coverage\.(xml|json|out)|lcov\.info|^TAP version|ok 1\b|not ok \d|--- (PASS|FAIL|SKIP): |=== RUN|test result: ok|OK \(\d+ tests?\)|\d+ passed in |Tests:\s+\d+ passed|\.pytest_cache|__pycache__|\.coverage\b|node_modules/)`), whatReport, false},
	{"", expr(`/proc/(self|\d+|%[ds]|\$\{?\w+|thread-self)|PTRACE_|\bptrace\b|process_vm_writev|/dev/(mem|kmem|tty|pts)|/dev/fd/\d|"/dev/std(out|err)"`), whatProcess, false},
	{"python", expr(`os\.write\(\s*[0-9]|os\.fdopen\(\s*[0-9]|os\.dup2\s*\(|os\.closerange|os\.close\(\s*[0-9]|os\.getppid|os\.killpg|psutil`), whatProcess, false},
	{"script", expr(`(writeSync|createWriteStream|fs\.write|writeFileSync)\([^)\n]*(\bfd\s*:\s*\d|^\s*[0-9]\s*,)|(writeSync|fs\.write|writeFileSync|closeSync)\(\s*[0-9]|process\.ppid|process\.binding|process\.send\s*\(|parentPort|worker_threads|inspector\b`), whatProcess, false},
	{"go", expr(`os\.NewFile\(|syscall\.(Write|Dup2|Dup3|Close|Kill|PtraceAttach)\(|unix\.(Write|Dup2|Dup3)\(|os\.Getppid|os\.Std(out|err)\s*=[^=]`), whatProcess, false},
	{"c", expr(`\bdup2\s*\(|\bfreopen\s*\(|\bgetppid\s*\(|\bwrite\s*\(\s*[12]\s*,`), whatProcess, false},
	{"ruby", expr(`IO\.for_fd|\$std(out|err)\s*=[^=]|STD(OUT|ERR)\.reopen|Process\.ppid`), whatProcess, false},
}

// TestAware finds lines that a change adds to product and that ask whether they
// are under test, end the process, write what a runner reports, or reach into
// its modules. Programs may end: where one begins, that is no finding.
func TestAware(file string, was, now []byte) []Weakness {
	lang := languageOf(file, now)
	if now == nil || lang == "" {
		return nil
	}
	fresh := addedLines(was, now)
	if len(fresh) == 0 {
		return nil
	}
	readable := awareText(lang, now)
	program := isProgram(file, lang, now)
	at := map[int]Weakness{}
	for _, a := range asked {
		if a.langs != "" && !slices.Contains(strings.Fields(a.langs), lang) {
			continue
		}
		for _, found := range a.form().FindAllIndex(readable, -1) {
			line := lineOfMatch(readable, found, fresh)
			if line == 0 || a.entry && (program || inEntry(lang, readable, found[0])) || a.what == whatAll && ownPrefix(lineText(readable, line)) {
				continue
			}
			if _, known := at[line]; !known {
				at[line] = Weakness{KindTestAware, file, line, a.what + ": " + texts.OneLine(lineText(now, line), mostQuoted)}
			}
		}
	}
	more := func(line int, what string) {
		if _, known := at[line]; !known && fresh[line] {
			at[line] = Weakness{KindTestAware, file, line, what + ": " + texts.OneLine(lineText(now, line), mostQuoted)}
		}
	}
	for line := range hiddenNames(lex(lang, now)) {
		more(line, whatPieces)
	}
	if !program {
		for _, found := range looksForTests(file, lang, readable) {
			more(lineAt(readable, found[0]), whatLooks)
		}
		for _, found := range actsOnTests(readable) {
			more(lineAt(readable, found[0]), whatActs)
		}
	}
	for _, line := range macroTwins(lang, now) {
		more(line, whatTwin)
	}
	if lib := testLibrary(lang, now); lib != "" && testLibrary(lang, was) != lib && !assertLibrary(lib) {
		line := lineOf(now, lib, fresh)
		if _, known := at[line]; !known && line > 0 {
			at[line] = Weakness{KindTestAware, file, line, whatImport + ": " + lib}
		}
	}
	var out []Weakness
	for _, w := range at {
		out = append(out, w)
	}
	slices.SortFunc(out, func(a, b Weakness) int { return cmp.Compare(a.Line, b.Line) })
	return out
}

// assertLibrary is one that products use as well, to check what they are given.
func assertLibrary(lib string) bool {
	return lib == "assert" || lib == "node:assert" || lib == "should" || lib == "expect" || lib == "net/http/httptest" || lib == "invoke" || lib == "check.h"
}

// awareText is the source without comments, each string in double quotes.
func awareText(lang string, src []byte) []byte {
	out := make([]byte, len(src))
	for i, c := range src {
		if out[i] = ' '; c == '\n' {
			out[i] = c
		}
	}
	s := lex(lang, src)
	for _, t := range s.tokens {
		b := s.bytes(t)
		switch {
		case t.kind == comment:
			if strings.HasPrefix(string(b), "//go:linkname") || strings.HasPrefix(string(b), "//go:embed") {
				copy(out[t.from:], b)
			}
		case t.kind == text:
			// Names are short; what is long is text for people.
			if len(b) > 160 || bytes.IndexByte(b, '\n') >= 0 && b[0] != '`' {
				continue
			}
			copy(out[t.from:], b)
			if n := len(b); n > 1 && (b[0] == '\'' || b[0] == '`') {
				out[t.from], out[int(t.from)+n-1] = '"', '"'
			}
		default:
			copy(out[t.from:], b)
		}
	}
	return out
}

// lineOfMatch is the first fresh line of a match, 0 when none is.
func lineOfMatch(src []byte, found []int, fresh map[int]bool) int {
	first := lineAt(src, found[0])
	for line := first; line <= lineAt(src, max(found[0], found[1]-1)); line++ {
		if fresh[line] {
			return line
		}
	}
	return 0
}

func lineText(src []byte, line int) string {
	for text := range strings.Lines(string(src)) {
		if line--; line == 0 {
			return strings.TrimSpace(text)
		}
	}
	return ""
}

func lineOf(src []byte, what string, fresh map[int]bool) int {
	n := 0
	for text := range strings.Lines(string(src)) {
		if n++; fresh[n] && strings.Contains(text, what) {
			return n
		}
	}
	return 0
}

var entryMark = map[string]func() *regexp.Regexp{
	"python": expr(`(?m)^if\s+__name__\s*==\s*"__main__"|^def\s+(main|cli|run_cli)\s*\(`),
	"script": expr(`require\.main\s*===?\s*module|import\.meta\.main|^#!`),
	"java":   expr(`static\s+void\s+main\s*\(|fun\s+main\s*\(|@main`),
	"c":      expr(`\bint\s+main\s*\(`),
	"rust":   expr(`\bfn\s+main\s*\(`),
	"ruby":   expr(`__FILE__\s*==\s*\$(0|PROGRAM_NAME)|^#!`),
	"php":    expr(`^#!|PHP_SAPI`),
	"shell":  expr(``),
}

var (
	goMain   = expr(`(?m)^package main\b`)
	atMargin = expr(`(?m)^[^\s#})\]]`)
)

// isProgram is true for a file that begins a program by its place or package.
func isProgram(file, lang string, src []byte) bool {
	base := strings.ToLower(path.Base(file))
	stem, _, _ := strings.Cut(base, ".")
	dirs := strings.Split(strings.ToLower(path.Dir(file)), "/")
	switch {
	case lang == "go":
		return goMain().Match(src)
	case stem == "__main__" || stem == "main" || stem == "cli" || stem == "manage" || stem == "server":
		return true
	case slices.Contains(dirs, "bin") || slices.Contains(dirs, "cmd") || slices.Contains(dirs, "cli") || slices.Contains(dirs, "commands"):
		return true
	case lang == "rust" || lang == "c" || lang == "java" || lang == "shell":
		return entryMark[lang]().Match(src)
	}
	return strings.HasPrefix(string(src), "#!")
}

// inEntry is true below the mark where a program begins, in a file that is also
// a module.
func inEntry(lang string, src []byte, at int) bool {
	mark := entryMark[lang]
	if mark == nil || lang == "java" || lang == "c" || lang == "rust" || lang == "shell" {
		return false
	}
	// The last mark before the line, with nothing back at the margin since.
	for _, found := range mark().FindAllIndex(src[:at], -1) {
		rest := string(src[found[1]:at])
		if _, after, ok := strings.Cut(rest, "\n"); !ok || !atMargin().MatchString(after) {
			return true
		}
	}
	return false
}

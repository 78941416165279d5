package shortage

// maxProcesses is RLIMIT_NPROC, which package syscall does not name.
const maxProcesses = 6

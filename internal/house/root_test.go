package house

// root is the folder of the module.
const root = "../.."

// scripts holds the scripts of the command line.
const scripts = root + "/internal/e2e/script/testdata/"

// A reporter of mocha that prints as its own one does, and writes what became of
// each test beside itself in the form of its JSON reporter.
const { realpathSync, writeFileSync } = require('node:fs');
const { createRequire } = require('node:module');
const { join } = require('node:path');

const write = writeFileSync.bind(undefined, join(__dirname, 'report'));
const { Spec } = createRequire(realpathSync(process.argv[1]))('mocha').reporters;

module.exports = class extends Spec {
  constructor(runner, options) {
    super(runner, options);
    const said = { passes: [], failures: [], pending: [] };
    const note = (list) => (test, error) => {
      const err = error ? { message: String(error.message), stack: String(error.stack) } : {};
      list.push({ fullTitle: test.fullTitle(), file: test.file, err });
    };
    runner.on('pass', note(said.passes));
    runner.on('fail', note(said.failures));
    runner.on('pending', note(said.pending));
    runner.once('end', () => write(JSON.stringify(said)));
  }
};

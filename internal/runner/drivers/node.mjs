// A reporter of node's test runner: one JSON object a line.
import { relative } from 'node:path';

const here = process.cwd();

function text(error) {
  const all = [];
  for (let e = error; e && all.length < 5; e = e.cause) all.push(String(e.stack || e.message || e));
  return all.join('\n').slice(-16000);
}

export default async function* report(source) {
  const above = [];
  for await (const { type, data } of source) {
    if (type === 'test:start') {
      above.length = data.nesting;
      above[data.nesting] = data.name;
      continue;
    }
    if (type !== 'test:pass' && type !== 'test:fail') continue;
    const file = data.file ? relative(here, data.file) : '';
    const names = above.slice(0, data.nesting).concat(data.name);
    const failed = type === 'test:fail';
    // A file that does not load, or ends early, is reported as a test called
    // like it.
    const itself = data.nesting === 0 && data.file && (data.name === data.file || data.name === file || data.file.endsWith('/' + data.name));
    const skipped = data.skip !== undefined || data.todo !== undefined;
    const outcome = skipped ? 'skipped' : failed ? (itself ? 'broken' : 'failed') : 'passed';
    if (itself && !failed) continue;
    yield JSON.stringify({ name: file + ': ' + names.join(' > '), group: file, outcome, text: failed ? text(data.details?.error) : '' }) + '\n';
  }
}

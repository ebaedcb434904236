// Runs test files side by side on hosts of hack/cluster: `node hack/run-files.js HOSTS RESULTS FILE...`. Each free host
// takes the next file. Prints a line for each, all of what a failed one wrote, and at the end how many tests passed.
// Exits with 1 when one failed, or was skipped.
import { spawn } from 'node:child_process';
import { createWriteStream, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';

const [hosts, results, ...files] = process.argv.slice(2);

/** These take longest, the longest first: begun last, they would run alone at the end. */
const first = `
  lost-node network-policies short-commands engine-kill engine-restart kubectl guestbook back-pressure load-balancer purge
  agent-faults server-kill fuzz kubernetes-fuzz pods-volumes images pods-health helm cp node-lost pod-network pods-storage
  simulated-deployments two-links pods-network pods-ends two-schedulers services terminals up agent-kill agent-specs
`.match(/\S+/g);
const rank = (file) => {
  const at = first.indexOf(basename(file, '.test.ts'));
  return at === -1 ? first.length : at;
};
const queue = files.toSorted((a, b) => rank(a) - rank(b));
const running = new Set();
let passed = 0;
let passedFiles = 0;

/**
 * Without roots of this machine's own: each process would read them as it starts,
 * 70 ms for each of some thousand commands.
 */
const { NODE_EXTRA_CA_CERTS: _, ...environment } = process.env;

/** Runs a file; gives its exit code. */
function runOn(host, file, log, report) {
  const project = file.startsWith('test/chaos/') ? 'chaos' : 'e2e';
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`];
  const command = ['exec', host, 'node_modules/.bin/vitest', 'run', '--project', project, ...reporters, file];
  return new Promise((resolve, reject) => {
    const out = createWriteStream(log);
    const child = spawn('hack/cluster', command, { env: environment, stdio: ['ignore', 'pipe', 'pipe'] });
    running.add(child);
    child.stdout.pipe(out, { end: false });
    child.stderr.pipe(out, { end: false });
    child.on('error', reject);
    child.on('close', (code) => {
      running.delete(child);
      out.end(() => resolve(code));
    });
  });
}

function counts(report) {
  try {
    const { numPassedTests, numPendingTests } = JSON.parse(readFileSync(report, 'utf8'));
    return { done: numPassedTests, skipped: numPendingTests };
  } catch {
    return { done: 0, skipped: 0 };
  }
}

async function serve(host) {
  for (let file = queue.shift(); file !== undefined; file = queue.shift()) {
    const name = file.replace(/^test\/|\.test\.ts$/g, '').replaceAll('/', '-');
    const log = join(results, `${name}.log`);
    const report = join(results, `${name}.json`);
    const began = Date.now();
    const code = await runOn(host, file, log, report);
    const { done, skipped } = counts(report);
    const seconds = `${Math.round((Date.now() - began) / 1000)} s on ${host}`;
    if (code === 0 && done > 0 && skipped === 0) {
      passed += done;
      passedFiles += 1;
      console.log(`passed  ${file}: ${done} tests in ${seconds}; ${queue.length} files wait`);
    } else {
      const why = code !== 0 ? `vitest ended with ${code}` : skipped > 0 ? `${skipped} tests were skipped` : 'no test ran';
      console.log(`${readFileSync(log, 'utf8')}\nFAILED  ${file}: ${why}, after ${seconds}`);
    }
  }
}

for (const signal of ['SIGINT', 'SIGTERM']) {
  process.on(signal, () => {
    queue.length = 0;
    for (const child of running) child.kill(signal);
    process.exitCode = 1;
  });
}
await Promise.all(Array.from({ length: Number(hosts) }, (_, at) => serve(`h${at + 1}`)));
console.log(`${passedFiles} of ${files.length} files passed, ${passed} tests`);
if (passedFiles < files.length) process.exitCode = 1;

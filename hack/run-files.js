// Runs test files side by side on hosts of hack/cluster: `node hack/run-files.js HOSTS RESULTS FILE...`. Each free host
// takes the next file. Prints a line for each, all of what a failed one wrote, and at the end which failed, and how
// many tests passed. Exits with 1 when one failed, or was skipped.
import { spawn } from 'node:child_process';
import { createWriteStream, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { createInterface } from 'node:readline';
import { mark } from './run-on-host.js';

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
/** A line for each file that failed, and the names and first error lines of its failed tests. */
const failures = [];

/**
 * Without roots of this machine's own: each process would read them as it starts,
 * 70 ms for each of some thousand commands.
 */
const { NODE_EXTRA_CA_CERTS: _, ...environment } = process.env;

/**
 * A vitest on a host, which starts with its first file, goes on with the next, and starts again after its death:
 * starting it takes as long as a short file.
 */
class HostRunner {
  #host;
  #child;
  #hear = () => {};

  constructor(host) {
    this.#host = host;
  }

  /** Runs a file; gives its outcome, or undefined when vitest ended with it. What vitest says goes to `log`. */
  async run(file, log) {
    const out = createWriteStream(log);
    const outcome = await new Promise((resolve) => {
      const end = (outcome) => {
        this.#hear = () => {};
        resolve(outcome);
      };
      this.#hear = (line) => {
        if (line === undefined) end(undefined);
        else if (line.startsWith(mark)) end(JSON.parse(line.slice(mark.length)));
        else out.write(`${line}\n`);
      };
      this.#child ??= this.#start();
      this.#child.stdin.write(`${file}\n`);
    });
    await new Promise((resolve) => out.end(resolve));
    return outcome;
  }

  end() {
    this.#child?.stdin.end();
  }

  #start() {
    const child = spawn('hack/cluster', ['exec', this.#host, 'node', 'hack/run-on-host.js'], { env: environment });
    running.add(child);
    child.stdin.on('error', () => {});
    for (const output of [child.stdout, child.stderr]) createInterface({ input: output }).on('line', (line) => this.#hear(line));
    child.on('close', () => {
      running.delete(child);
      this.#child = undefined;
      this.#hear(undefined);
    });
    return child;
  }
}

async function serve(host) {
  const runner = new HostRunner(host);
  for (let file = queue.shift(); file !== undefined; file = queue.shift()) {
    const log = join(results, `${file.replace(/^test\/|\.test\.ts$/g, '').replaceAll('/', '-')}.log`);
    const began = Date.now();
    const outcome = await runner.run(file, log);
    const seconds = `${Math.round((Date.now() - began) / 1000)} s on ${host}`;
    const why = failure(outcome);
    if (why === undefined) {
      passed += outcome.passed;
      passedFiles += 1;
      console.log(`passed  ${file}: ${outcome.passed} tests in ${seconds}; ${queue.length} files wait`);
    } else {
      const said = readFileSync(log, 'utf8');
      const found = said.match(/^.*FAIL .*\n.*$/gm) ?? [];
      failures.push(`FAILED  ${file}: ${why}, after ${seconds}`, ...found);
      console.log(`${said}\nFAILED  ${file}: ${why}, after ${seconds}`);
    }
  }
  runner.end();
}

/** Why a file has not passed. */
function failure(outcome) {
  if (outcome === undefined) return 'vitest ended';
  const { isWhole, passed, skipped } = outcome;
  if (!isWhole) return 'tests failed, or something beside them';
  if (skipped > 0) return `${skipped} tests were skipped`;
  return passed === 0 ? 'no test ran' : undefined;
}

for (const signal of ['SIGINT', 'SIGTERM']) {
  process.on(signal, () => {
    queue.length = 0;
    for (const child of running) child.kill(signal);
    process.exitCode = 1;
  });
}
await Promise.all(Array.from({ length: Number(hosts) }, (_, at) => serve(`h${at + 1}`)));
// Repeated at the end: CI shows a long log without its middle.
if (failures.length > 0) console.log(failures.join('\n'));
console.log(`${passedFiles} of ${files.length} files passed, ${passed} tests`);
if (passedFiles < files.length) process.exitCode = 1;

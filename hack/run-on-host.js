// Runs test files of e2e and chaos one after the other in one vitest: `node hack/run-on-host.js`, for run-files.js.
// Each line of standard input is a file. After what vitest says of it comes a line with the outcome.
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

/** Begins the line with the outcome, and nothing else. */
export const mark = '\u0000outcome ';

async function main() {
  const { createVitest } = await import('vitest/node');
  const vitest = await createVitest('test', { watch: false, reporters: ['default'], project: ['e2e', 'chaos'] });
  await vitest.standalone();
  for await (const file of createInterface({ input: process.stdin })) {
    const files = await vitest.getRelevantTestSpecifications([file]);
    const { testModules, unhandledErrors } = await vitest.runTestSpecifications(files);
    // The modules of the files before are among them.
    const modules = testModules.filter(({ moduleId }) => files.some((each) => each.moduleId === moduleId));
    const states = modules.flatMap((each) => [...each.children.allTests()]).map((test) => test.result().state);
    const count = (state) => states.filter((each) => each === state).length;
    const isWhole = modules.length > 0 && modules.every((each) => each.ok()) && unhandledErrors.length === 0;
    const outcome = { isWhole, passed: count('passed'), skipped: states.length - count('passed') - count('failed') };
    process.stdout.write(`${mark}${JSON.stringify(outcome)}\n`);
  }
  // Also when a handle that is left would keep this process.
  await vitest.exit(true);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main();

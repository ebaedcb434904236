import { availableParallelism } from 'node:os';
import { basename } from 'node:path';
import { defaultServerConditions } from 'vite';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * `import ... from 'berth'` in examples finds the sources,
 * through the same "exports" that give users the built package.
 */
const conditions = ['berth-source', ...defaultServerConditions];
/** A condition that is polled, and a test, fail when they hang; how busy the machine is does not matter. */
const expectation = { poll: { timeout: 60_000 } };
/** In milliseconds, of a test and a hook: on a machine with a slow disk one takes 50 s by itself. */
const hangsAfter = 180_000;
/** In milliseconds, of a test in its long form (hack/chaos): that of one test kills engines for an hour. */
const longTest = process.env.BERTH_CHAOS === 'long' ? 7_200_000 : undefined;
/** Files that take longest, and do not look it by their size: begun last, they would run alone at the end. */
const first = [
  ...['node-deleted', 'scheduler-standby', 'controllers-standby', 'kubernetes-clients', 'store-migration', 'package'],
  ...['storage-restore', 'other-languages', 'pod-network-ways', 'package-tarball', 'client-reflector', 'lease-takeover'],
  ...['service-allocation', 'watch-json-memory', 'apiserver-damaged', 'cli-output'],
];

class LongFilesFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isFirst = ({ moduleId }: TestSpecification) => first.includes(basename(moduleId, '.test.ts'));
    const sorted = await super.sort(files);
    return [...sorted.filter(isFirst), ...sorted.filter((file) => !isFirst(file))];
  }
}

/** Fails a file that leaves something behind in the process that it shares with others. */
const leftovers = ['test/leftovers.ts'];
const excluded = ['node_modules/**', 'dist/**'];

// One project for each kind of test; hack/test runs them in this order. Only e2e and chaos need Docker.
export default defineConfig({
  test: {
    // Each file of e2e and chaos has a vitest of its own: they share the compiled modules.
    experimental: { fsModuleCache: true },
    // Integration tests mostly wait.
    maxWorkers: 2 * availableParallelism(),
    sequence: { sequencer: LongFilesFirst },
    projects: [
      {
        test: {
          name: 'unit',
          // No test leaves anything behind in a module: loading all modules for each file took more time than the
          // tests.
          isolate: false,
          setupFiles: leftovers,
          include: [
            '{api,client,apiserver,scheduler,agent,controllers,cli,host,examples,hack,test/fakes,test/builders,bench}/**/*.test.ts',
          ],
          exclude: excluded,
          expect: expectation,
          testTimeout: longTest ?? hangsAfter,
          hookTimeout: hangsAfter,
        },
      },
      {
        test: {
          name: 'conformance',
          include: ['test/conformance/**/*.test.ts'],
          exclude: excluded,
          expect: expectation,
          isolate: false,
          setupFiles: leftovers,
          testTimeout: hangsAfter,
          hookTimeout: hangsAfter,
        },
      },
      {
        ssr: { resolve: { conditions } },
        test: {
          name: 'integration',
          // Loading all modules for each file took a third of the time; what a file leaves to the next fails it.
          isolate: false,
          setupFiles: leftovers,
          include: ['test/integration/**/*.test.ts'],
          exclude: excluded,
          expect: expectation,
          testTimeout: hangsAfter,
          hookTimeout: hangsAfter,
        },
      },
      {
        test: {
          name: 'e2e',
          include: ['test/e2e/**/*.test.ts'],
          exclude: excluded,
          expect: expectation,
          testTimeout: 180_000,
          hookTimeout: 300_000,
          fileParallelism: false,
        },
      },
      {
        test: {
          name: 'chaos',
          include: ['test/chaos/**/*.test.ts'],
          exclude: excluded,
          expect: expectation,
          testTimeout: longTest ?? 600_000,
          hookTimeout: 300_000,
          fileParallelism: false,
        },
      },
    ],
  },
});

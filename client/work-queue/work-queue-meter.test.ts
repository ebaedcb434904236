import { expect, it } from 'vitest';
import { formatMetrics, MetricsRegistry } from '../../api/metrics/index.ts';
import { createFakeClock } from '../../test/fakes/fake-clock.ts';
import { createFakeLogger } from '../../test/fakes/fake-logger.ts';
import { createWorkQueue } from './work-queue.ts';

function setup() {
  const clock = createFakeClock();
  const metrics = new MetricsRegistry();
  const queue = createWorkQueue({ name: 'test', clock, logger: createFakeLogger(), metrics });
  const value = (metric: string): number =>
    Number(
      formatMetrics(metrics, 'prometheus')
        .split('\n')
        .find((line) => line.startsWith(`${metric}{name="test"} `))
        ?.split(' ')[1] ?? Number.NaN,
    );
  return { clock, queue, value };
}

it('tells how many keys wait, and how long each waited and was worked on', async () => {
  const { clock, queue, value } = setup();
  queue.add('a');
  queue.add('a');
  queue.add('b');
  expect([value('workqueue_depth'), value('workqueue_adds_total')]).toEqual([2, 2]);
  await clock.advance(3_000);
  const key = (await queue.get())!;
  await clock.advance(2_000);
  expect(value('workqueue_queue_duration_seconds_sum')).toBe(3);
  expect([value('workqueue_unfinished_work_seconds'), value('workqueue_longest_running_processor_seconds')]).toEqual([2, 2]);
  queue.done(key);
  expect([value('workqueue_work_duration_seconds_sum'), value('workqueue_work_duration_seconds_count')]).toEqual([2, 1]);
  expect([value('workqueue_depth'), value('workqueue_unfinished_work_seconds')]).toEqual([1, 0]);
});

it('counts what is tried again', async () => {
  const { queue, value } = setup();
  const stop = new AbortController();
  const failed = new Promise<void>((resolve) => {
    queue.add('a');
    void queue.run(
      1,
      async () => {
        setImmediate(resolve);
        throw new Error('no');
      },
      stop.signal,
    );
  });
  await failed;
  expect(value('workqueue_retries_total')).toBe(1);
  stop.abort();
});

it('is measured no more when it is shut down', () => {
  const { queue, value } = setup();
  queue.add('a');
  queue.shutDown();
  expect(value('workqueue_depth')).toBeNaN();
});

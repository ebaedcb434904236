import { describe, expect, it } from 'vitest';
import type { Volume } from '../../api/generated/types.ts';
import { pod } from '../../test/builders/index.ts';
import { createFakeClock, settle } from '../../test/fakes/fake-clock.ts';
import { createFakeLogger } from '../../test/fakes/fake-logger.ts';
import { advance, createRecord, type PodRecord } from '../pod/pod-record.ts';
import { createVolumeRefresher } from './refresher.ts';

const downward: Volume = { name: 'd', volumeSource: { downwardAPI: { items: [] } } };
const settings: Volume = { name: 'c', volumeSource: { configMap: { localObjectReference: { name: 'm' } } } };
const plain: Volume = { name: 'e', volumeSource: { emptyDir: {} } };
const web = (name: string, ...volumes: Volume[]) => pod(name).uid(name).volume(volumes[0]!).build();

function running(object: ReturnType<typeof web>): PodRecord {
  const record = createRecord(object.metadata!.uid!, object);
  record.containers.set('1', { state: 'running' } as never);
  return record;
}

async function setup(...records: PodRecord[]) {
  const clock = createFakeClock();
  const known = new Map(records.map((record) => [record.uid, record]));
  const refreshed: string[] = [];
  const failures: boolean[] = [];
  const refresher = createVolumeRefresher({
    podVolumes: {
      async refresh({ metadata }, maxAgeMs, isWanted) {
        if (failures.shift()) throw new Error('away');
        if (isWanted()) refreshed.push(`${metadata?.name} ${maxAgeMs / 1_000} s`);
      },
    },
    records: () => known.values(),
    get: (uid) => known.get(uid),
    clock,
    logger: createFakeLogger(),
  });
  const stop = new AbortController();
  const done = refresher.run(stop.signal);
  const end = async () => {
    stop.abort();
    await done;
  };
  return { clock, refresher, refreshed, end, failNext: () => failures.push(true) };
}

describe('volumes that show what changes', () => {
  it('are updated every half minute in running pods that mount objects', async () => {
    const ended = running(web('ended', settings));
    ended.containers.clear();
    const { clock, refreshed, end } = await setup(running(web('a', settings)), running(web('b', plain)), ended);
    await clock.advance(29_000);
    expect(refreshed).toEqual([]);
    await clock.advance(2_000);
    expect(refreshed).toEqual(['a 15 s']);
    await end();
  });

  it('follow labels and annotations of their pod at once, with objects read anew', async () => {
    const [shown, objects, other] = [web('a', downward), web('c', settings), web('b', plain)];
    const { clock, refresher, refreshed, end, failNext } = await setup(running(shown), running(objects), running(other));
    const labelled = (object: typeof shown) => ({ ...object, metadata: { ...object.metadata, labels: { new: 'one' } } });
    refresher.changed(shown, shown);
    refresher.changed(labelled(other), other);
    await settle();
    expect(refreshed).toEqual([]);
    refresher.changed(labelled(shown), shown);
    await settle();
    expect(refreshed).toEqual(['a 0 s']);
    failNext();
    refresher.changed(labelled(objects), objects);
    await clock.advance(3_000);
    expect(refreshed).toEqual(['a 0 s', 'c 0 s']);
    await clock.advance(28_000);
    expect(refreshed.slice(2)).toEqual(['a 15 s', 'c 15 s']);
    await end();
  });

  it('are tried again when the server was away', async () => {
    const object = web('a', settings);
    const { clock, refreshed, failNext, end } = await setup(running(object));
    failNext();
    await clock.advance(30_100);
    expect(refreshed).toEqual([]);
    await clock.advance(3_000);
    expect(refreshed).toEqual(['a 15 s']);
    await end();
  });

  it('are left alone when the pod is to go in the very moment before they are written', async () => {
    const record = running(web('a', settings));
    const { clock, refreshed, end } = await setup(record);
    advance(record, { type: 'delete', gracePeriodSeconds: 0 });
    await clock.advance(31_000);
    expect(refreshed).toEqual([]);
    await end();
  });
});

import { describe, expect, it } from 'vitest';
import { alreadyExists, conflict, notFound, permissionDenied, unavailable } from '../../api/errors/index.ts';
import type { Pod } from '../../api/generated/types.ts';
import { createFakeClock } from '../../test/fakes/fake-clock.ts';
import { createFakeResourceClient } from '../../test/fakes/fake-resource-client.ts';
import { OwnWrites } from './own-writes.ts';
import { type PodOwner, PodWriter, type PodWriterOptions } from './pod-writer.ts';
import { slowStart } from './slow-start.ts';

const owner: PodOwner = { key: 'a/web', uid: 'u1', reference: { kind: 'ReplicaSet', namespace: 'a', name: 'web' } };
const named = (name: string): Pod => ({ metadata: { namespace: 'a', name, ownerReferences: [{ uid: 'u1', controller: true }] } });
const drawn: Pod = { metadata: { namespace: 'a', generateName: 'web-', ownerReferences: [{ uid: 'u1', controller: true }] } };

function setup(objects: Pod[] = [], more: Pick<PodWriterOptions, 'slotOf'> = {}) {
  const clock = createFakeClock();
  const pods = createFakeResourceClient<Pod>({ kind: 'Pod', objects });
  const told: string[] = [];
  const events = {
    event: (_: unknown, type: string, reason: string, text: string) => void told.push(`${type} ${reason}: ${text}`),
  };
  let shown = 0;
  const informer = { shows: (version: string) => Number(version) <= shown };
  const writes = new OwnWrites();
  let draws = 0;
  const random = () => (draws++ % 27) / 27;
  const writer = new PodWriter({ pods, reader: pods, informer, writes, events, clock, random, ...more });
  const show = () => {
    shown = Number(pods.resourceVersion);
  };
  const { signal } = new AbortController();
  return { clock, pods, told, writes, writer, show, signal };
}

/** Lets the pauses between attempts pass. */
async function settled<T>(clock: ReturnType<typeof createFakeClock>, promise: Promise<T>): Promise<T> {
  let done = false;
  const end = promise.finally(() => {
    done = true;
  });
  end.catch(() => {});
  for (let turn = 0; !done && turn < 100; turn++) await clock.advance(1_000);
  return end;
}

describe('a create', () => {
  it('makes the owner wait until the informer shows the pod', async () => {
    const { writer, writes, show, signal } = setup();
    await writer.create(owner, drawn, signal);
    expect(writes.areShown(owner.key)).toBe(false);
    show();
    expect(writes.areShown(owner.key)).toBe(true);
  });

  it('whose answer was lost is repeated under the same name, and makes one pod', async () => {
    const { clock, pods, writer, signal } = setup();
    const create = pods.create.bind(pods);
    let calls = 0;
    pods.create = async (...args) => {
      const made = await create(...args);
      if (++calls === 1) throw unavailable('gone');
      return made;
    };
    await settled(clock, writer.create(owner, drawn, signal));
    expect(pods.objects()).toHaveLength(1);
    expect(calls).toBe(1);
  });

  it('that never arrived is repeated until it is answered', async () => {
    const { clock, pods, writer, told, signal } = setup();
    pods.failNext('create', unavailable('away'), 4);
    await settled(clock, writer.create(owner, drawn, signal));
    expect(pods.objects()).toHaveLength(1);
    expect(new Set(pods.callLog('create')).size).toBe(1);
    expect(told.filter((text) => text.startsWith('Warning FailedCreate'))).not.toEqual([]);
  });

  it('of an unknown outcome is asked for again for the same slot only', async () => {
    const slotOf = ({ spec }: Pod): string => spec?.hostname ?? '';
    const { clock, pods, writer, signal } = setup([], { slotOf });
    const on = (hostname: string): Pod => ({ ...drawn, spec: { hostname } });
    const create = pods.create.bind(pods);
    let calls = 0;
    pods.create = async (...args) => {
      calls++;
      if (calls === 2) throw permissionDenied('no room any more');
      const made = await create(...args);
      if (calls === 1) throw unavailable('gone');
      return made;
    };
    await expect(settled(clock, writer.create(owner, on('n3'), signal))).rejects.toThrow('no room any more');
    await settled(clock, writer.create(owner, on('n1'), signal));
    await settled(clock, writer.create(owner, on('n3'), signal));
    expect(pods.objects().map(({ spec }) => spec?.hostname)).toEqual(['n3', 'n1']);
  });

  it('draws another name when a pod of another owner has the one that was drawn', async () => {
    const { clock, pods, writer, signal } = setup();
    pods.failNext('create', alreadyExists({ kind: 'Pod', name: 'web-x' }));
    await settled(clock, writer.create(owner, drawn, signal));
    expect(new Set(pods.callLog('create')).size).toBe(2);
    expect(pods.objects()).toHaveLength(1);
  });

  it('under a given name that another pod has is refused', async () => {
    const { writer, signal } = setup([{ metadata: { namespace: 'a', name: 'web-0' } }]);
    await expect(writer.create(owner, named('web-0'), signal)).rejects.toMatchObject({ code: 'ALREADY_EXISTS' });
  });

  it('that was carried out unheard, and whose repetition is refused, is found by the next create', async () => {
    const { clock, pods, writer, signal } = setup();
    const create = pods.create.bind(pods);
    let calls = 0;
    pods.create = async (...args) => {
      if (++calls === 2) throw permissionDenied('exceeded quota: q');
      const made = await create(...args);
      if (calls === 1) throw unavailable('gone');
      return made;
    };
    await expect(settled(clock, writer.create(owner, drawn, signal))).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
    await settled(clock, writer.create(owner, drawn, signal));
    expect(pods.objects()).toHaveLength(1);
    await settled(clock, writer.create(owner, drawn, signal));
    expect(pods.objects()).toHaveLength(2);
  });

  it('that was carried out unheard, and whose pod was deleted since, counts as made', async () => {
    const { clock, pods, writer, signal } = setup();
    let calls = 0;
    pods.create = async () => {
      if (++calls === 1) throw unavailable('gone');
      throw alreadyExists({ kind: 'Pod', name: 'web-0' });
    };
    await settled(clock, writer.create(owner, named('web-0'), signal));
    expect(calls).toBe(2);
  });

  it('is not repeated after the signal has aborted', async () => {
    const { pods, writer } = setup();
    pods.failNext('create', unavailable('away'), 9);
    await expect(writer.create(owner, drawn, AbortSignal.abort())).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    expect(pods.callLog('create')).toHaveLength(1);
  });
});

describe('createAll', () => {
  it('stops after the batch in which one is refused, and says why in one event', async () => {
    const { pods, writer, told, signal } = setup();
    pods.failNext('create', permissionDenied('exceeded quota: q'), 99);
    const result = await writer.createAll(owner, [drawn, drawn, drawn, drawn], signal);
    expect(result).toMatchObject({ succeeded: 0, failure: { error: { code: 'PERMISSION_DENIED' } } });
    expect(pods.callLog('create')).toHaveLength(1);
    expect(told).toEqual(['Warning FailedCreate: Error creating: exceeded quota: q']);
  });

  it('that goes on being refused says so in the same words each time', async () => {
    const { pods, writer, told, signal } = setup();
    const create = pods.create.bind(pods);
    let made = 0;
    pods.create = async (pod, ...rest) => {
      if (made >= 1) throw permissionDenied(`pods "${pod.metadata?.name}" is forbidden`);
      made++;
      return create(pod, ...rest);
    };
    for (let turn = 0; turn < 4; turn++) await writer.createAll(owner, Array(turn ? 2 : 3).fill(drawn), signal);
    const failures = told.filter((text) => text.startsWith('Warning'));
    expect(failures).toHaveLength(4);
    expect(new Set(failures).size).toBe(1);
  });
});

describe('a delete', () => {
  it('is of the pod with this uid only, and one that is gone is as good', async () => {
    const { pods, writer, signal } = setup([named('web-0'), named('web-1')]);
    const [zero, one] = pods.objects();
    pods.remove('a/web-1');
    await writer.deleteAll(owner, [zero!, one!], signal);
    expect(pods.objects()).toEqual([]);
    const other = setup([{ metadata: { ...named('web-0').metadata, uid: 'another' } }]);
    await expect(other.writer.delete(owner, zero!, other.signal)).rejects.toMatchObject({ code: 'ABORTED' });
  });

  it('whose answer was lost is repeated until it is answered', async () => {
    const { clock, pods, writer, signal } = setup([named('web-0')]);
    const [zero] = pods.objects();
    pods.failNext('delete', unavailable('away'), 3);
    await settled(clock, writer.delete(owner, zero!, signal));
    expect(pods.objects()).toEqual([]);
  });

  it('whose answer was lost, and whose repetition was refused, is made again before anything is decided', async () => {
    const { clock, pods, writer, signal } = setup([named('web-0')]);
    const [zero] = pods.objects();
    const remove = pods.delete.bind(pods);
    let calls = 0;
    pods.delete = async (...args) => {
      if (++calls === 1) throw unavailable('gone');
      if (calls === 2) throw conflict({ kind: 'Pod', name: 'web-0' }, 'changed');
      return remove(...args);
    };
    await expect(settled(clock, writer.delete(owner, zero!, signal))).rejects.toMatchObject({ code: 'ABORTED' });
    expect(await writer.finishDeletions(owner, [zero!], signal)).toBe(true);
    expect(pods.objects()).toEqual([]);
    expect(await writer.finishDeletions(owner, [], signal)).toBe(false);
  });

  it('that finds no pod makes its owner wait until the informer shows none', async () => {
    const { writer, told, signal } = setup();
    const [gone, other] = ['web-0', 'web-1'].map((name) => ({ metadata: { ...named(name).metadata, uid: name } }));
    await writer.delete(owner, gone!, signal);
    expect(await writer.finishDeletions(owner, [gone!, other!], signal)).toBe(true);
    expect(await writer.finishDeletions(owner, [gone!, other!], signal)).toBe(true);
    expect(await writer.finishDeletions(owner, [other!], signal)).toBe(false);
    expect(told).toEqual([]);
  });

  it('tries all, and throws the first refusal', async () => {
    const { pods, writer, signal } = setup([named('web-0'), named('web-1')]);
    pods.failNext('delete', conflict({ kind: 'Pod', name: 'web-0' }, 'changed'));
    await expect(writer.deleteAll(owner, pods.objects(), signal)).rejects.toMatchObject({ code: 'ABORTED' });
    expect(pods.objects()).toHaveLength(1);
  });
});

describe('taking a finalizer off', () => {
  it.each([
    [
      'is thrown after a conflict, so that the owner is looked at again',
      conflict({ kind: 'Pod', name: 'web-1' }, 'changed'),
      'ABORTED',
    ],
    ['is as good when the pod is gone', notFound({ kind: 'Pod', name: 'web-1' }), undefined],
    ['is thrown when it is refused', permissionDenied('no'), 'PERMISSION_DENIED'],
  ])('%s', async (_, error, code) => {
    const { pods, writer, signal } = setup([named('web-1')]);
    pods.failNext('patch', error);
    const removed = writer.removeFinalizer(owner, named('web-1'), 'x', signal).then(
      () => undefined,
      (thrown) => thrown.code,
    );
    expect(await removed).toBe(code);
  });
});

describe('slowStart', () => {
  it.each([
    [0, []],
    [1, [1]],
    [10, [1, 2, 4, 3]],
  ])('makes %d calls in batches that double', async (count, sizes) => {
    const batches: number[] = [];
    let open = 0;
    const result = await slowStart(count, async () => {
      if (open++ === 0) batches.push(0);
      batches[batches.length - 1]!++;
      await null;
      open = 0;
    });
    expect([result.succeeded, batches]).toEqual([count, sizes]);
  });
});

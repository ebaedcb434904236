import { describe, expect, it } from 'vitest';
import { messageType } from '../../api/codec/descriptors.ts';
import type { JsonObject } from '../../api/meta/merge-patch.ts';
import { computeApplyPatch, readLastApplied, withLastApplied } from './apply-patch.ts';

describe('the apply patch', () => {
  it('is nothing when the live object says all that the manifest says, and more', () => {
    const wanted = { spec: { containers: [{ name: 'a', image: 'x' }] } };
    const live = {
      spec: { containers: [{ name: 'a', image: 'x', imagePullPolicy: 'Always' }], nodeName: 'n1' },
      status: { phase: 'Running' },
    };
    expect(computeApplyPatch(wanted, wanted, live)).toBeUndefined();
  });

  it('sets what differs and leaves alone what others wrote', () => {
    const wanted = { data: { a: '2' } };
    expect(computeApplyPatch({ data: { a: '1' } }, wanted, { data: { a: '1', other: 'x' } })).toEqual({ data: { a: '2' } });
  });

  it('removes what was applied before and is gone from the manifest', () => {
    expect(computeApplyPatch({ data: { a: '1', b: '2' } }, { data: { a: '1' } }, { data: { a: '1', b: '2', c: '3' } })).toEqual({
      data: { b: null },
    });
    expect(computeApplyPatch({ data: { a: '1' } }, {}, { data: { a: '1' } })).toEqual({ data: null });
  });

  it('does not remove what is already gone', () => {
    expect(computeApplyPatch({ data: { a: '1' } }, { data: {} }, { data: {} })).toBeUndefined();
  });

  it('replaces a list as a whole when an item differs or is gone', () => {
    expect(computeApplyPatch(undefined, { list: ['a'] }, { list: ['a', 'b'] })).toEqual({ list: ['a'] });
  });

  it('remembers the manifest without remembering the memory', () => {
    const once = withLastApplied({ metadata: { name: 'x', annotations: { mine: '1' } }, data: { a: '1' } });
    const twice = withLastApplied(once);
    expect(twice).toEqual(once);
    expect(readLastApplied(twice)).toEqual({ metadata: { name: 'x', annotations: { mine: '1' } }, data: { a: '1' } });
  });

  it('treats a damaged memory as none', () => {
    expect(
      readLastApplied({ metadata: { annotations: { 'kubectl.kubernetes.io/last-applied-configuration': '{' } } }),
    ).toBeUndefined();
  });
});

describe('the apply patch of lists', () => {
  const type = messageType('berth.core.v1.PodSpec');
  const container = (more: JsonObject = {}): JsonObject => ({ name: 'a', image: 'x', ...more });
  const patchOf = (applied: JsonObject | undefined, wanted: JsonObject, live: JsonObject) =>
    computeApplyPatch(applied, wanted, live, type);

  it('removes a field of an item that was applied and is gone, and leaves those of others', () => {
    const applied = { containers: [container({ env: [{ name: 'A', value: '1' }], command: ['x'] })] };
    const live = {
      containers: [
        container({
          env: [
            { name: 'A', value: '1' },
            { name: 'B', value: '2' },
          ],
          command: ['x'],
          imagePullPolicy: 'Always',
        }),
        { name: 'injected' },
      ],
    };
    expect(patchOf(applied, { containers: [container({ image: 'y' })] }, live)).toEqual({
      containers: [{ name: 'a', image: 'y', imagePullPolicy: 'Always' }, { name: 'injected' }],
    });
    expect(patchOf(applied, { containers: [container({ env: [] })] }, live)?.containers).toEqual([
      { name: 'a', image: 'x', env: [{ name: 'B', value: '2' }], imagePullPolicy: 'Always' },
      { name: 'injected' },
    ]);
  });

  it('removes an item that was applied and is gone, and takes the order of the manifest', () => {
    const applied = { containers: [{ name: 'a' }, { name: 'b' }] };
    expect(patchOf(applied, { containers: [{ name: 'c' }, { name: 'b' }] }, applied)).toEqual({
      containers: [{ name: 'c' }, { name: 'b' }],
    });
    expect(patchOf(applied, { containers: [{ name: 'a' }] }, { containers: [{ name: 'a' }] })).toBeUndefined();
  });

  it('replaces a list without keys from which a field of an item is gone', () => {
    const applied = { tolerations: [{ key: 'a', operator: 'Exists', effect: 'NoSchedule' }] };
    const wanted = { tolerations: [{ key: 'a', operator: 'Exists' }] };
    expect(patchOf(applied, wanted, applied)).toEqual(wanted);
    expect(patchOf(wanted, wanted, wanted)).toBeUndefined();
  });

  it('replaces a list of which two items have one key', () => {
    const ports = [
      { containerPort: 53, protocol: 'UDP' },
      { containerPort: 53, protocol: 'TCP' },
    ];
    const live = { containers: [container({ ports })] };
    expect(patchOf(live, { containers: [container({ ports: ports.slice(1) })] }, live)).toEqual({
      containers: [container({ ports: ports.slice(1) })],
    });
  });

  it('drops the other members of a union', () => {
    const applied = { volumes: [{ name: 'v' }] };
    const live = { volumes: [{ name: 'v', emptyDir: {} }] };
    const wanted = { volumes: [{ name: 'v', hostPath: { path: '/x' } }] };
    expect(patchOf(applied, wanted, live)).toEqual(wanted);
  });
});

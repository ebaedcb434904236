import { describe, expect, it } from 'vitest';
import { messageType } from '../../api/codec/descriptors.ts';
import { strategicMerge } from '../../api/codec/strategic-merge.ts';
import { readLastApplied } from '../../api/meta/last-applied.ts';
import type { JsonObject } from '../../api/meta/merge-patch.ts';
import { computeApplyPatch, withLastApplied } from './apply-patch.ts';

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
  const message = 'berth.core.v1.PodSpec';
  const container = (more: JsonObject = {}): JsonObject => ({ name: 'a', image: 'x', ...more });
  const patchOf = (applied: JsonObject | undefined, wanted: JsonObject, live: JsonObject) =>
    computeApplyPatch(applied, wanted, live, messageType(message));
  /** What the server makes of the patch; also when `others` changed the object meanwhile. */
  const resultOf = (applied: JsonObject | undefined, wanted: JsonObject, live: JsonObject, others = live): JsonObject =>
    strategicMerge(message, others, patchOf(applied, wanted, live) ?? {});

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
    const changed = { containers: [container({ image: 'y' })] };
    expect(patchOf(applied, changed, live)).toEqual({
      '$setElementOrder/containers': [{ name: 'a' }],
      containers: [{ name: 'a', image: 'y', env: null, command: null }],
    });
    expect(resultOf(applied, changed, live)).toEqual({
      containers: [{ name: 'a', image: 'y', imagePullPolicy: 'Always' }, { name: 'injected' }],
    });
    expect(resultOf(applied, { containers: [container({ env: [] })] }, live).containers).toEqual([
      { name: 'a', image: 'x', env: [{ name: 'B', value: '2' }], imagePullPolicy: 'Always' },
      { name: 'injected' },
    ]);
  });

  it('keeps what others add to the list before the patch arrives', () => {
    const applied = { containers: [container()] };
    const others = { containers: [{ name: 'injected' }, container()] };
    expect(resultOf(applied, { containers: [container({ image: 'y' })] }, applied, others)).toEqual({
      containers: [{ name: 'injected' }, container({ image: 'y' })],
    });
  });

  it('removes an item that was applied and is gone, and takes the order of the manifest', () => {
    const applied = { containers: [{ name: 'a' }, { name: 'b' }] };
    expect(patchOf(applied, { containers: [{ name: 'c' }, { name: 'b' }] }, applied)).toEqual({
      '$setElementOrder/containers': [{ name: 'c' }, { name: 'b' }],
      containers: [{ name: 'c' }, { name: 'a', $patch: 'delete' }],
    });
    expect(resultOf(applied, { containers: [{ name: 'c' }, { name: 'b' }] }, applied)).toEqual({
      containers: [{ name: 'c' }, { name: 'b' }],
    });
    expect(patchOf(applied, { containers: [{ name: 'b' }, { name: 'a' }] }, applied)).toEqual({
      '$setElementOrder/containers': [{ name: 'b' }, { name: 'a' }],
    });
    expect(patchOf(applied, { containers: [{ name: 'a' }] }, { containers: [{ name: 'a' }] })).toBeUndefined();
  });

  it('adds and removes plain values, and leaves those of others', () => {
    const type = messageType('berth.meta.v1.ObjectMeta');
    const live = { finalizers: ['a/a', 'b/b', 'other/x'] };
    expect(computeApplyPatch({ finalizers: ['a/a', 'b/b'] }, { finalizers: ['b/b', 'c/c'] }, live, type)).toEqual({
      '$setElementOrder/finalizers': ['b/b', 'c/c'],
      '$deleteFromPrimitiveList/finalizers': ['a/a'],
      finalizers: ['c/c'],
    });
    expect(computeApplyPatch(undefined, { finalizers: ['b/b'] }, live, type)).toBeUndefined();
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
    for (const wanted of [ports.slice(1), [...ports, { containerPort: 54 }]])
      expect(resultOf(live, { containers: [container({ ports: wanted })] }, live)).toEqual({
        containers: [container({ ports: wanted })],
      });
  });

  it('drops the other members of a union', () => {
    const applied = { volumes: [{ name: 'v' }] };
    const live = { volumes: [{ name: 'v', emptyDir: {} }] };
    const wanted = { volumes: [{ name: 'v', hostPath: { path: '/x' } }] };
    expect(patchOf(applied, wanted, live)).toMatchObject({ volumes: [{ $retainKeys: ['hostPath', 'name'] }] });
    expect(resultOf(applied, wanted, live)).toEqual(wanted);
  });

  it('replaces an object that the server does not merge', () => {
    const type = messageType('berth.policy.v1.PodDisruptionBudgetSpec');
    const [before, wanted] = [{ selector: { matchLabels: { a: '1' } } }, { selector: { matchLabels: { b: '2' } } }];
    expect(computeApplyPatch(before, wanted, before, type)).toEqual(wanted);
    expect(computeApplyPatch(wanted, wanted, wanted, type)).toBeUndefined();
  });
});

import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../api/meta/merge-patch.ts';
import { podObject } from '../generators/pod.ts';
import { override } from './overrides.ts';
import { decideAttach, type RunCommandFlags } from './run-flags.ts';

const flags = (more: Partial<RunCommandFlags> = {}): RunCommandFlags => ({
  ...{ image: 'busybox', restart: 'Always', podRunningTimeout: '1m0s', overrideType: 'merge' },
  ...more,
});

describe('whether the container is joined', () => {
  it.each<[Partial<RunCommandFlags>, boolean]>([
    [{}, false],
    [{ stdin: true }, true],
    [{ stdin: true, tty: true }, true],
    [{ attach: true, rm: true }, true],
    [{ stdin: true, attach: false }, false],
  ])('%j: %s', (more, attached) => expect(decideAttach(flags(more))).toBe(attached));

  it.each<[Partial<RunCommandFlags>, string]>([
    [{ rm: true }, '--rm should only be used for attached containers'],
    [{ rm: true, stdin: true, attach: false }, '--rm should only be used for attached containers'],
    [{ tty: true }, '-i/--stdin is required for containers with -t/--tty=true'],
    [{ stdin: true, dryRun: 'server' }, "--dry-run=server can't be used with attached containers"],
  ])('%j is refused', (more, message) => expect(() => decideAttach(flags(more))).toThrow(message));
});

describe('the input of the container', () => {
  const containerOf = (more: Partial<RunCommandFlags>): JsonObject => {
    const { spec } = podObject('x', [], flags(more)) as { spec: { containers: [JsonObject] } };
    return spec.containers[0];
  };

  it('ends with that of the first client unless it is to stay open', () => {
    expect(containerOf({})).toEqual({ name: 'x', image: 'busybox' });
    expect(containerOf({ stdin: true, tty: true })).toMatchObject({ stdin: true, stdinOnce: true, tty: true });
    expect(containerOf({ stdin: true, leaveStdinOpen: true })).toEqual({ name: 'x', image: 'busybox', stdin: true });
  });
});

describe('--overrides', () => {
  const pod = podObject('x', [], flags({ env: ['A=1'] }));
  const named = [{ name: 'x', tty: true }];

  it('merges, merges lists by key, and does operations', () => {
    expect(override('berth.core.v1.Pod', pod, JSON.stringify({ spec: { containers: named } }), 'merge')).toMatchObject({
      metadata: { name: 'x' },
      spec: { containers: named, restartPolicy: 'Always' },
    });
    expect(override('berth.core.v1.Pod', pod, JSON.stringify({ spec: { containers: named } }), 'strategic')).toMatchObject({
      spec: { containers: [{ name: 'x', image: 'busybox', env: [{ name: 'A', value: '1' }], tty: true }] },
    });
    const operation = [{ op: 'add', path: '/spec/containers/0/env/-', value: { name: 'B', value: '2' } }];
    expect(override('berth.core.v1.Pod', pod, JSON.stringify(operation), 'json')).toMatchObject({
      spec: { containers: [{ env: [{ name: 'A' }, { name: 'B' }] }] },
    });
  });

  it.each([
    ['{', 'merge', '--overrides is no JSON'],
    ['[]', 'merge', '--overrides takes a JSON object with --override-type=merge'],
    ['[]', 'strategic', '--overrides takes a JSON object'],
    ['{}', 'json', 'a JSON patch is a list of operations'],
    ['{"kind":"Node"}', 'merge', '--overrides must leave a Pod'],
  ] as const)('refuses %s as %s', (text, type, message) => {
    expect(() => override('berth.core.v1.Pod', pod, text, type)).toThrow(message);
  });
});

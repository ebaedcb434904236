import { expect, it } from 'vitest';
import { messageFromJson } from '../../codec/json.ts';
import type { DaemonSet } from '../../generated/types.ts';
import { daemonSet as kind } from './kind.ts';

type Json = Record<string, unknown>;

function daemonSetOf(spec: Json, container: Json = {}): DaemonSet {
  const containers = [{ name: 'main', image: 'x', ...container }];
  const template = { metadata: { labels: { app: 'web' } }, spec: { containers } };
  const json = { metadata: { name: 'web' }, spec: { selector: { matchLabels: { app: 'web' } }, template, ...spec } };
  const object = messageFromJson<DaemonSet>('berth.apps.v1.DaemonSet', json);
  kind.defaults(object);
  return object;
}

const broken = (spec: Json): string[] =>
  kind.validate(daemonSetOf(spec)).map(({ field, description }) => `${field}: ${description}`);
const rolling = (rollingUpdate: Json): Json => ({ updateStrategy: { rollingUpdate } });
const at = 'spec.updateStrategy.rollingUpdate';

it('has the defaults of Kubernetes', () => {
  const { template: _, selector: __, ...spec } = daemonSetOf({}).spec ?? {};
  expect(spec).toEqual({
    revisionHistoryLimit: 10,
    updateStrategy: {
      type: 'RollingUpdate',
      rollingUpdate: { maxUnavailable: { type: 0, intVal: 1 }, maxSurge: { type: 0, intVal: 0 } },
    },
  });
  expect(daemonSetOf({ updateStrategy: { type: 'OnDelete' } }).spec?.updateStrategy).toEqual({ type: 'OnDelete' });
});

it.each<[string, Json, string]>([
  ['a strategy that does not exist', { updateStrategy: { type: 'Slow' } }, 'spec.updateStrategy.type: unsupported value "Slow"'],
  [
    'both bounds',
    rolling({ maxSurge: '10%' }),
    `${at}.maxSurge: invalid value "10%": may not be set when maxUnavailable is non-zero`,
  ],
  ['no bound', rolling({ maxUnavailable: 0 }), `${at}.maxUnavailable: is required: cannot be 0 when maxSurge is 0`],
  [
    'more than all nodes',
    rolling({ maxUnavailable: '101%' }),
    `${at}.maxUnavailable: invalid value "101%": must not be greater than 100%`,
  ],
  [
    'a surge on more than all nodes',
    rolling({ maxUnavailable: 0, maxSurge: '101%' }),
    `${at}.maxSurge: invalid value "101%": must not be greater than 100%`,
  ],
])('is refused with %s', (_title, spec, sentence) => {
  expect(broken(spec)).toHaveLength(1);
  expect(broken(spec)[0]).toContain(sentence);
});

it('accepts a surge in the place of pods that are missing', () => {
  expect(broken(rolling({ maxUnavailable: 0, maxSurge: 1 }))).toEqual([]);
});

it('warns of a surge of pods that need a port of the node, and of nothing else', () => {
  const surge = rolling({ maxUnavailable: 0, maxSurge: 1 });
  const ports = { ports: [{ containerPort: 80, hostPort: 8080 }] };
  expect(kind.warnings?.(daemonSetOf(surge, ports))).toEqual([
    `${at}.maxSurge: a new pod cannot start beside the old one, both need port 8080 of the node; use maxUnavailable`,
  ]);
  expect(kind.validate(daemonSetOf(surge, ports))).toEqual([]);
  expect(kind.warnings?.(daemonSetOf({}, ports))).toEqual([]);
  expect(kind.warnings?.(daemonSetOf(surge))).toEqual([]);
});

it('counts how often its template has been another, whatever the client writes there', () => {
  const annotation = 'deprecated.daemonset.template.generation';
  const countIn = ({ metadata }: DaemonSet) => metadata?.annotations?.[annotation];
  const before = daemonSetOf({});
  kind.lifecycle?.prepareForCreate?.(before);
  expect(countIn(before)).toBe('1');
  const same: DaemonSet = { ...before, metadata: { annotations: { [annotation]: '9', note: 'x' } } };
  kind.lifecycle?.prepareForUpdate?.(same, before);
  expect(same.metadata?.annotations).toEqual({ [annotation]: '1', note: 'x' });
  const other = daemonSetOf({}, { image: 'y' });
  kind.lifecycle?.prepareForUpdate?.(other, same);
  expect(countIn(other)).toBe('2');
});

it.each([
  ['no number', 'many'],
  ['nothing below 1', '0'],
  ['no number that cannot be counted on', '9'.repeat(40)],
])('takes %s for the count of its template', (_, value) => {
  const object: DaemonSet = { metadata: { annotations: { 'deprecated.daemonset.template.generation': value } } };
  kind.lifecycle?.prepareForCreate?.(object);
  expect(object.metadata?.annotations).toEqual({ 'deprecated.daemonset.template.generation': '1' });
});

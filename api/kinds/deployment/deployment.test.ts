import { describe, expect, it } from 'vitest';
import { messageFromJson } from '../../codec/json.ts';
import type { Deployment } from '../../generated/types.ts';
import { deployment as kind } from './kind.ts';

type Json = Record<string, unknown>;

function deploymentOf(spec: Json): Deployment {
  const template = { metadata: { labels: { app: 'web' } }, spec: { containers: [{ name: 'main', image: 'x' }] } };
  const json = { metadata: { name: 'web' }, spec: { selector: { matchLabels: { app: 'web' } }, template, ...spec } };
  const object = messageFromJson<Deployment>('berth.apps.v1.Deployment', json);
  kind.defaults(object);
  return object;
}

const broken = (spec: Json): string[] =>
  kind.validate(deploymentOf(spec)).map(({ field, description }) => `${field}: ${description}`);

const percent = (strVal: string) => ({ type: 1, strVal });

it('has the defaults of Kubernetes', () => {
  const { template: _, selector: __, ...spec } = deploymentOf({}).spec ?? {};
  expect(spec).toEqual({
    replicas: 1,
    strategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: percent('25%'), maxSurge: percent('25%') } },
    revisionHistoryLimit: 10,
    progressDeadlineSeconds: 600,
  });
  const { strategy } = deploymentOf({ strategy: { rollingUpdate: { maxSurge: 0 } } }).spec ?? {};
  expect(strategy?.rollingUpdate).toEqual({ maxUnavailable: percent('25%'), maxSurge: { type: 0, intVal: 0 } });
  expect(deploymentOf({ strategy: { type: 'Recreate' } }).spec?.strategy).toEqual({ type: 'Recreate' });
});

const rolling = (rollingUpdate: Json): Json => ({ strategy: { rollingUpdate } });
const at = 'spec.strategy.rollingUpdate';

describe('a Deployment is refused with', () => {
  it.each<[string, Json, string]>([
    [
      'a strategy that does not exist',
      { strategy: { type: 'Slow' } },
      'spec.strategy.type: unsupported value "Slow": must be one of "Recreate", "RollingUpdate"',
    ],
    [
      'steps where there are none',
      { strategy: { type: 'Recreate', rollingUpdate: { maxSurge: 1 } } },
      `${at}: forbidden: may not be specified when strategy \`type\` is 'Recreate'`,
    ],
    [
      'steps that change nothing',
      rolling({ maxSurge: 0, maxUnavailable: 0 }),
      `${at}.maxUnavailable: invalid value 0: may not be 0 when \`maxSurge\` is 0`,
    ],
    [
      'steps of no percent',
      rolling({ maxSurge: '0%', maxUnavailable: '0%' }),
      `${at}.maxUnavailable: invalid value 0: may not be 0 when \`maxSurge\` is 0`,
    ],
    [
      'more than all pods unavailable',
      rolling({ maxUnavailable: '101%' }),
      `${at}.maxUnavailable: invalid value "101%": must not be greater than 100%`,
    ],
    [
      'a negative maxUnavailable',
      rolling({ maxUnavailable: -1 }),
      `${at}.maxUnavailable: invalid value -1: must not be negative`,
    ],
    [
      'a text that is no percentage',
      rolling({ maxSurge: 'half' }),
      `${at}.maxSurge: invalid value "half": must be a number, or a percentage such as "50%"`,
    ],
    [
      'a deadline before a pod can be available',
      { minReadySeconds: 600 },
      'spec.progressDeadlineSeconds: invalid value 600: must be greater than minReadySeconds',
    ],
    ['a negative history', { revisionHistoryLimit: -1 }, 'spec.revisionHistoryLimit: invalid value -1: must not be negative'],
  ])('%s', (_title, spec, sentence) => expect(broken(spec)).toEqual([sentence]));
});

it.each<[string, Json]>([
  ['more than all pods beside the old ones', rolling({ maxSurge: '150%' })],
  ['one bound of 0', rolling({ maxSurge: 0 })],
  ['a history of none', { revisionHistoryLimit: 0 }],
  ['a pause', { paused: true }],
])('accepts %s', (_title, spec) => expect(broken(spec)).toEqual([]));

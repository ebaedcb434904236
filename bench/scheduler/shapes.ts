import type { Affinity, Pod, TopologySpreadConstraint } from '../../api/generated/types.ts';
import { labels } from '../../api/meta/well-known.ts';

type PodSpec = NonNullable<Pod['spec']>;

export function quantities(amounts: Readonly<Record<string, string>>): Record<string, { string: string }> {
  return Object.fromEntries(Object.entries(amounts).map(([name, string]) => [name, { string }]));
}

/** What a pod has beside its name, a container and 500Mi. */
export interface Shape {
  readonly cpu?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly spec?: Partial<PodSpec>;
}

export function podOf(name: string, { cpu = '100m', labels: own = {}, spec = {} }: Shape): Pod {
  const resources = { requests: quantities({ cpu, memory: '500Mi' }) };
  return {
    metadata: { name, namespace: 'default', labels: own },
    spec: { containers: [{ name: 'pause', image: 'registry.k8s.io/pause:3.10', resources }], ...spec },
  };
}

export const mostSkew = 5;

/** The pods of scheduler_perf. */
export const shapes = {
  plain: {},
  /** One of them on each node. */
  apart: coloured('green', (matches) => ({
    podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [matches(labels.hostname)] },
  })),
  /** All of them in one zone. */
  together: coloured('blue', (matches) => ({
    podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [matches(labels.zone)] },
  })),
  /** In two zones. */
  inZones: {
    spec: {
      affinity: {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: {
            nodeSelectorTerms: [{ matchExpressions: [{ key: labels.zone, operator: 'In', values: ['zone-0', 'zone-1'] }] }],
          },
        },
      },
    },
  },
  /** The fullest zone has at most `mostSkew` more of them than the emptiest. */
  spread: { labels: { colour: 'red' }, spec: { topologySpreadConstraints: [spreadOver(labels.zone)] } },
  tooLarge: { cpu: '9' },
  /** No scheduler of the benchmark places it; it fits everywhere. */
  unscheduled: { cpu: '1m', spec: { schedulerName: 'none' } },
  low: { cpu: '900m', spec: { terminationGracePeriodSeconds: 0 } },
  high: { cpu: '3', spec: { priorityClassName: 'high' } },
} as const satisfies Record<string, Shape>;

function spreadOver(topologyKey: string): TopologySpreadConstraint {
  return {
    maxSkew: mostSkew,
    topologyKey,
    whenUnsatisfiable: 'DoNotSchedule',
    labelSelector: { matchLabels: { colour: 'red' } },
  };
}

function coloured(colour: string, affinity: (matches: (topologyKey: string) => { topologyKey: string }) => Affinity): Shape {
  const labelSelector = { matchLabels: { colour } };
  return { labels: { colour }, spec: { affinity: affinity((topologyKey) => ({ labelSelector, topologyKey })) } };
}

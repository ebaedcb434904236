import type { Command } from 'commander';

/**
 * The flags that say what becomes of the pods of lost nodes: Kubernetes' names, of its API server and its controllers.
 */
export interface LostNodeFlags {
  readonly defaultNotReadyTolerationSeconds?: string;
  readonly defaultUnreachableTolerationSeconds?: string;
  readonly nodeEvictionRate?: string;
  readonly secondaryNodeEvictionRate?: string;
  readonly unhealthyZoneThreshold?: string;
  readonly largeClusterSizeThreshold?: string;
}

interface Rule {
  readonly flag: string;
  readonly value: string;
  readonly help: string;
  readonly isRight: (value: number) => boolean;
  readonly must: string;
}

const isCount = (value: number) => Number.isSafeInteger(value) && value >= 0 && value < 2 ** 31;
const count = { value: '<n>', isRight: isCount, must: 'must be a whole number, 0 or more' };
const seconds = { ...count, value: '<seconds>', must: 'must be a whole number of seconds, 0 or more' };
const rate = {
  value: '<n>',
  isRight: (value: number) => value === 0 || (value >= 0.0001 && value <= 1000),
  must: 'must be a number from 0.0001 to 1000, e.g. 0.1, or 0 for none',
};
const part = {
  value: '<part>',
  isRight: (value: number) => value >= 0 && value <= 1,
  must: 'must be a number from 0 to 1, e.g. 0.55',
};

const rules = {
  defaultNotReadyTolerationSeconds: {
    ...seconds,
    flag: '--default-not-ready-toleration-seconds',
    help: 'default toleration of pods for a node that is not ready (default: 300)',
  },
  defaultUnreachableTolerationSeconds: {
    ...seconds,
    flag: '--default-unreachable-toleration-seconds',
    help: 'the same on a node that is not heard of (default: 300)',
  },
  nodeEvictionRate: {
    ...rate,
    flag: '--node-eviction-rate',
    help: 'silent nodes per second and zone whose pods may be evicted (default: 0.1)',
  },
  secondaryNodeEvictionRate: {
    ...rate,
    flag: '--secondary-node-eviction-rate',
    help: 'the same while much of a large zone is lost; in others it is none (default: 0.01)',
  },
  unhealthyZoneThreshold: {
    ...part,
    flag: '--unhealthy-zone-threshold',
    help: 'fraction of silent nodes from which a zone counts as unhealthy (default: 0.55)',
  },
  largeClusterSizeThreshold: {
    ...count,
    flag: '--large-cluster-size-threshold',
    help: 'a zone of more nodes is large (default: 50)',
  },
} as const satisfies Record<keyof LostNodeFlags, Rule>;
const keys = Object.keys(rules) as (keyof LostNodeFlags)[];

export function withLostNodeFlags(command: Command, which: readonly (keyof LostNodeFlags)[] = keys): void {
  for (const key of which) command.option(`${rules[key].flag} ${rules[key].value}`, rules[key].help);
}

/** What is wrong with them: a sentence each. */
export function lostNodeErrors(flags: LostNodeFlags): string[] {
  return keys.flatMap((key) => {
    const given = flags[key];
    const { flag, isRight, must } = rules[key];
    return given === undefined || (given.trim() !== '' && isRight(Number(given))) ? [] : [`${flag} "${given}" ${must}`];
  });
}

const numberOf = (text: string | undefined) => (text === undefined ? undefined : Number(text));

/** As the server takes them; what is not said is its own to choose. */
export function lostNodeSecondsOf(flags: LostNodeFlags) {
  return {
    notReady: numberOf(flags.defaultNotReadyTolerationSeconds),
    unreachable: numberOf(flags.defaultUnreachableTolerationSeconds),
  };
}

/** Those of the controllers. */
export const rateKeys = [
  'nodeEvictionRate',
  'secondaryNodeEvictionRate',
  'unhealthyZoneThreshold',
  'largeClusterSizeThreshold',
] as const satisfies readonly (keyof LostNodeFlags)[];

/** As the controllers take them; what is not said is theirs to choose. */
export function evictionRatesOf(flags: LostNodeFlags): { readonly [key in (typeof rateKeys)[number]]?: number } {
  const given = rateKeys.filter((key) => flags[key] !== undefined);
  return Object.fromEntries(given.map((key) => [key, Number(flags[key])]));
}

import { isIP } from 'node:net';
import { subdomainNameError } from '../../api/meta/names.ts';
import { defaultHistory, defaultHistorySize, historyErrors } from '../flags/history-flags.ts';
import { mergePassed, passedChanges, passedErrors, passedOf, typedPassed } from '../flags/passed-flags.ts';
import { restartPeriodErrors } from '../flags/restart-period.ts';
import { defaultMetricsAddress } from '../metrics/serve.ts';
import { defaultListen, defaultNodeName, parseListen } from '../paths.ts';
import type { InstallationRecord } from './installation-record.ts';

/**
 * What `berth up` may be told about the installation; what is left out stays as it was at the last start that
 * succeeded.
 */
export interface GivenSettings {
  readonly listen?: string | undefined;
  readonly advertise?: string | undefined;
  readonly nodeName?: string | undefined;
  readonly sandboxImage?: string | undefined;
  readonly maxContainerRestartPeriod?: string | undefined;
  readonly podManifestPath?: string | undefined;
  readonly schedulerConfig?: string | undefined;
  readonly metricsAddress?: string | undefined;
  readonly agentMetricsAddress?: string | undefined;
  readonly history?: string | undefined;
  readonly historySize?: string | undefined;
}

export type Settings = Omit<InstallationRecord, 'madeFolder'>;

const flagNames = {
  listen: '--listen',
  advertise: '--advertise',
  nodeName: '--node-name',
  sandboxImage: '--sandbox-image',
  maxContainerRestartPeriod: '--max-container-restart-period',
  podManifestPath: '--pod-manifest-path',
  schedulerConfig: '--scheduler-config',
  metricsAddress: '--metrics-address',
  agentMetricsAddress: '--agent-metrics-address',
  history: '--history',
  historySize: '--history-size',
} as const satisfies Record<keyof GivenSettings, string>;
const keys = Object.keys(flagNames) as (keyof GivenSettings)[];

/** Given, else as before, else the default. */
export function computeSettings(given: GivenSettings, before: Settings | undefined): Settings {
  return {
    listen: given.listen ?? before?.listen ?? defaultListen,
    nodeName: given.nodeName ?? before?.nodeName ?? defaultNodeName(),
    advertise: given.advertise ?? before?.advertise,
    sandboxImage: given.sandboxImage ?? before?.sandboxImage,
    maxContainerRestartPeriod: given.maxContainerRestartPeriod ?? before?.maxContainerRestartPeriod,
    podManifestPath: (given.podManifestPath ?? before?.podManifestPath) || undefined,
    schedulerConfig: (given.schedulerConfig ?? before?.schedulerConfig) || undefined,
    metricsAddress: given.metricsAddress ?? before?.metricsAddress,
    agentMetricsAddress: given.agentMetricsAddress ?? before?.agentMetricsAddress,
    history: given.history ?? before?.history,
    historySize: given.historySize ?? before?.historySize,
    passed: mergePassed(before?.passed, passedOf(given)),
  };
}

/** What is wrong with the values of the flags: a sentence each. */
export function settingsErrors(given: GivenSettings): string[] {
  const { listen, advertise, nodeName, sandboxImage } = given;
  const errors: string[] = [];
  if (listen !== undefined && parseListen(listen) === undefined)
    errors.push(
      `--listen "${listen}" must be HOST:PORT, e.g. 127.0.0.1:7443, 0.0.0.0:7443 or [::1]:7443, with a port from 1 to 65535`,
    );
  if (advertise !== undefined && isIP(advertise) === 0 && subdomainNameError(advertise.toLowerCase()))
    errors.push(`--advertise "${advertise}" must be a host name or an address, without a port`);
  const rule = nodeName === undefined ? undefined : subdomainNameError(nodeName);
  if (rule) errors.push(`--node-name "${nodeName}" ${rule}`);
  if (sandboxImage !== undefined && !/^\S+$/.test(sandboxImage))
    errors.push(`--sandbox-image "${sandboxImage}" must name an image`);
  for (const key of ['metricsAddress', 'agentMetricsAddress'] as const) {
    const address = given[key];
    if (address !== undefined && address !== 'off' && parseListen(address) === undefined)
      errors.push(`${flagNames[key]} "${address}" must be HOST:PORT, e.g. 127.0.0.1:7444, or "off"`);
  }
  return [
    ...errors,
    ...restartPeriodErrors(given.maxContainerRestartPeriod),
    ...historyErrors(given),
    ...passedErrors(passedOf(given)),
  ];
}

/** What the processes choose where they are told nothing. */
const unsaid: GivenSettings = {
  metricsAddress: `${defaultMetricsAddress.server} or, if that was taken, a free port`,
  agentMetricsAddress: `${defaultMetricsAddress.agent} or, if that was taken, a free port`,
  maxContainerRestartPeriod: '5m',
  history: defaultHistory,
  historySize: defaultHistorySize,
};

/** Flags that ask for something else than what runs, with what it runs with. */
export function ignoredFlags(given: GivenSettings, running: Settings): string[] {
  const as = (key: keyof GivenSettings): string | undefined => running[key] ?? unsaid[key];
  const own = keys
    .filter((key) => given[key] !== undefined && given[key] !== (as(key) ?? ''))
    .map((key) => `${flagNames[key]} ${quoted(given[key]!)} (it runs with ${as(key) ?? 'none'})`);
  const passed = passedChanges(mergePassed(running.passed, passedOf(given)), running.passed);
  return [...own, ...passed.map(({ flag, next, before }) => `${flag} ${next} (it runs with ${before})`)];
}

/** What is to be another way than it was, a line each. */
export function changedSettings(next: Settings, before: Settings): string[] {
  const own = keys
    .filter((key) => next[key] !== before[key])
    .map((key) => `${flagNames[key]} ${next[key] ?? unsaid[key] ?? 'none'} (before ${before[key] ?? unsaid[key] ?? 'none'})`);
  const passed = passedChanges(next.passed, before.passed);
  return [...own, ...passed.map((change) => `${change.flag} ${change.next} (before ${change.before})`)];
}

/** The flags as they were given, to be typed again. */
export function printFlags(given: GivenSettings): string {
  const own = keys.filter((key) => given[key] !== undefined).map((key) => ` ${flagNames[key]} ${quoted(given[key]!)}`);
  return [...own, ...typedPassed(passedOf(given)).map((word) => ` ${quoted(word)}`)].join('');
}

/** As a shell takes it for one word. */
function quoted(value: string): string {
  if (value === '') return '""';
  return /^[\w@%+=:,./[\]-]+$/.test(value) ? value : `'${value.replaceAll("'", "'\\''")}'`;
}

import { type Command, InvalidArgumentError, Option } from 'commander';
import { logLevels } from '../../api/meta/log-level.ts';
import { labelNameError } from '../../api/meta/names.ts';
import { isQuantity, quantityValue } from '../../api/meta/quantity.ts';
import type { ServerOptions } from '../../apiserver/main.ts';
import { parseDuration } from '../../cli/args/duration.ts';
import { parseListen } from '../paths.ts';
import { type ControllersFlags, withControllersFlag } from './controllers-flags.ts';
import { type LostNodeFlags, withLostNodeFlags } from './lost-node-flags.ts';
import { type NetworkFlags, type NodePortFlags, withNetworkFlags, withNodePortFlag } from './network-flags.ts';

/** How a server behaves, wherever it runs; `berth up` takes these flags too. */
export interface ServerTuning extends LostNodeFlags, ControllersFlags, NetworkFlags, NodePortFlags {
  readonly scheduler: boolean;
  /** HOST:PORT, "off", or nothing: the default, which may be taken. */
  readonly kubernetesListen?: string;
  readonly maxInflight?: number;
  readonly maxStreams?: number;
  readonly clientRate?: number;
  readonly clientBurst?: number;
  readonly namespaceBytes?: number;
  readonly namespaceObjects?: number;
  readonly systemPriorityNamespaces?: readonly string[];
  readonly eventTtl?: number;
  readonly tlsMinVersion: 'VersionTLS12' | 'VersionTLS13';
  readonly audit: boolean;
  readonly auditPolicyFile?: string;
}

/** Kubernetes' own port. Where the default is taken, the server goes on without that door. */
export const defaultKubernetesListen = '127.0.0.1:6443';

export function withServerTuning(command: Command): Command {
  withControllersFlag(command)
    .addOption(
      new Option(
        '--kubernetes-listen <address>',
        `where Kubernetes' HTTP API is served, for kubectl and helm, or "off" (default: ${defaultKubernetesListen})`,
      ).argParser(parseKubernetesListen),
    )
    .option('--no-controllers', 'without the controllers')
    .option('--no-scheduler', 'without the scheduler')
    .addOption(limitOption('--max-inflight <n>', 'unary calls at once from which on no client gets more than an equal share'))
    .addOption(limitOption('--max-streams <n>', 'the same for open streams: watches, logs, commands'))
    .addOption(limitOption('--client-rate <n>', 'calls in a second that each client may make; 0: as many as it likes'))
    .addOption(limitOption('--client-burst <n>', 'so many calls at once after a pause; 0: two seconds worth'))
    .addOption(
      new Option('--namespace-bytes <quantity>', 'how much the objects of one namespace may take up (default: 1Gi)').argParser(
        parseBytes,
      ),
    )
    .addOption(
      new Option(
        '--system-priority-namespaces <names>',
        'where pods may use system-cluster-critical and system-node-critical besides kube-system, e.g. a,b, or "*"',
      ).argParser(parseNames),
    )
    .addOption(limitOption('--namespace-objects <n>', 'how many objects there may be in one namespace (default: 250000)'))
    .addOption(
      new Option('--tls-min-version <version>', 'the oldest version of TLS that clients may speak')
        .choices(['VersionTLS12', 'VersionTLS13'])
        .default('VersionTLS13'),
    )
    .addOption(new Option('--event-ttl <time>', 'how long events are kept, e.g. 1h').argParser(parseEventTtl))
    .option('--audit-policy-file <file>', 'the audit policy (default: writes, reads of Secrets, and access to containers)')
    .option('--no-audit', 'without an audit log');
  withLostNodeFlags(command);
  withNetworkFlags(command);
  withNodePortFlag(command);
  return command.addOption(logLevelOption());
}

export const logLevelOption = (): Option =>
  new Option('--log-level <level>', 'how much to log').choices(logLevels).default('info');

function limitOption(flags: string, description: string): Option {
  return new Option(flags, description).argParser((text) => {
    const value = Number(text);
    if (!/^\d+$/.test(text) || !Number.isSafeInteger(value)) throw new InvalidArgumentError('give a whole number');
    return value;
  });
}

function parseKubernetesListen(text: string): string {
  if (text === 'off' || parseListen(text.replace(/:0$/, ':1')) !== undefined) return text;
  throw new InvalidArgumentError(`give HOST:PORT, e.g. ${defaultKubernetesListen}, 0.0.0.0:6443 or [::1]:6443, or "off"`);
}

/** Where the server serves Kubernetes' clients; what was named must be free. */
export function kubernetesOf({
  kubernetesListen: given,
}: Pick<ServerTuning, 'kubernetesListen'>): Pick<ServerOptions, 'kubernetesListen' | 'kubernetesMayLack'> {
  if (given === 'off') return {};
  return given === undefined
    ? { kubernetesListen: defaultKubernetesListen, kubernetesMayLack: true }
    : { kubernetesListen: given };
}

function parseNames(text: string): readonly string[] {
  const names = text.split(',').map((name) => name.trim());
  if (names.every((name) => name === '*' || labelNameError(name) === undefined)) return names;
  throw new InvalidArgumentError('give names of namespaces with commas between, or "*"');
}

function parseBytes(text: string): number {
  const bytes = isQuantity(text) ? quantityValue(text) : 0;
  if (bytes >= 1) return bytes;
  throw new InvalidArgumentError('give a quantity, e.g. 512Mi');
}

function parseEventTtl(text: string): number {
  const ms = parseDuration(text);
  if (ms >= 1_000) return ms;
  throw new InvalidArgumentError('give at least 1s');
}

const limitKeys = ['maxInflight', 'maxStreams', 'clientRate', 'clientBurst'] as const satisfies readonly (keyof ServerTuning)[];

/** What is not said is the server's to choose. */
export function limitsOf(flags: ServerTuning): { readonly [key in (typeof limitKeys)[number]]?: number } {
  const given = limitKeys.filter((key) => flags[key] !== undefined);
  return Object.fromEntries(given.map((key) => [key, flags[key]]));
}

/** What one namespace may hold; what is not said is the server's to choose. */
export function namespaceLimitsOf({ namespaceBytes, namespaceObjects }: ServerTuning): { bytes?: number; objects?: number } {
  return {
    ...(namespaceBytes !== undefined && { bytes: namespaceBytes }),
    ...(namespaceObjects !== undefined && { objects: namespaceObjects }),
  };
}

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Command, InvalidArgumentError } from 'commander';
import { isQuantity } from '../../api/meta/quantity.ts';
import { parseDuration } from '../../cli/args/duration.ts';
import { type ConnectOptions, loadContext } from '../../client/index.ts';
import { defaultListen, installation } from '../../host/paths.ts';
import { type HollowOptions, hollowDefaults } from './options.ts';

export interface HollowCommand {
  readonly count: number;
  readonly server: string | undefined;
  readonly dataDir: string | undefined;
  /** Whether the Node objects are deleted at the end. */
  readonly cleanup: boolean;
  readonly options: HollowOptions;
}

interface Flags extends Required<Pick<HollowOptions, 'namePrefix' | 'cpu' | 'memory' | 'pods' | 'zones'>> {
  readonly server?: string;
  readonly dataDir?: string;
  readonly readyAfter: number;
  readonly runFor?: number;
  readonly usage: number;
  readonly cleanup: boolean;
}

/** As Kubernetes, in tests of itself; one process holds more than that, but starts them for minutes. */
const mostNodes = 5_000;

const whole =
  (least: number, most: number) =>
  (text: string): number => {
    const value = Number(text);
    if (!/^\d+$/.test(text) || value < least || value > most)
      throw new InvalidArgumentError(`it must be a whole number from ${least} to ${most}.`);
    return value;
  };

function quantity(text: string): string {
  if (!isQuantity(text)) throw new InvalidArgumentError('it must be a quantity, such as 8, 500m or 32Gi.');
  return text;
}

function span(text: string): number {
  try {
    return parseDuration(text);
  } catch {
    throw new InvalidArgumentError('it must be a span of time, such as 30s, 5m or 1h30m.');
  }
}

function prefix(text: string): string {
  if (!/^[a-z0-9]([a-z0-9-]{0,50}[a-z0-9])?$/.test(text))
    throw new InvalidArgumentError('it must be the beginning of a node name: lower-case letters, digits and dashes, at most 52.');
  return text;
}

function createCommand(): Command {
  const { namePrefix, cpu, memory, pods, zones, usagePercent } = hollowDefaults;
  return new Command('hack/hollow')
    .description('Run N agents in one process, on machines that are in memory, until Ctrl-C')
    .argument('<N>', 'how many nodes', whole(1, mostNodes))
    .option(
      '--server <address>',
      `the address of the API server (default: the current context's; with --data-dir ${defaultListen})`,
    )
    .option(
      '--data-dir <folder>',
      "the server's data directory, whose administrator's certificate is used (default: the current context)",
    )
    .option('--name-prefix <text>', 'nodes are called PREFIX-0, PREFIX-1, ...', prefix, namePrefix)
    .option('--cpu <quantity>', 'what each node has', quantity, cpu)
    .option('--memory <quantity>', 'what each node has', quantity, memory)
    .option('--pods <number>', 'how many pods a node takes', whole(1, 1_000), pods)
    .option('--zones <number>', 'spread the nodes over so many zones', whole(0, 1_000), zones)
    .option('--ready-after <span>', 'how long after its start a container is ready', span, 0)
    .option('--run-for <span>', 'containers end with exit code 0 after that; 0s: those of Jobs, at once (default: never)', span)
    .option('--usage <percent>', 'how much of their requests containers use', whole(0, 1_000), usagePercent)
    .option('--cleanup', 'delete the Node objects at the end', false);
}

/** Reads the words of a command line. A wrong one is told, and ends the process. */
export function parseHollowFlags(words: readonly string[]): HollowCommand {
  const command = createCommand().parse(words, { from: 'user' });
  const { server, dataDir, cleanup, readyAfter, runFor, usage, ...rest } = command.opts<Flags>();
  const options = { ...rest, readyAfterMs: readyAfter, runForMs: runFor, usagePercent: usage };
  return { count: command.processedArgs[0] as number, server, dataDir, cleanup, options };
}

/** How the administrator connects: with the certificate in a data directory, or as the current context says. */
export async function adminConnection({ server, dataDir }: Pick<HollowCommand, 'server' | 'dataDir'>): Promise<ConnectOptions> {
  if (dataDir === undefined) {
    const { options } = await loadContext();
    return { ...options, address: server ?? options.address };
  }
  const { pki } = installation(dataDir);
  const read = (name: string) =>
    readFile(join(pki, name), 'utf8').catch((cause: Error) => {
      throw new Error(`--data-dir ${dataDir} is not the data directory of a server, or not yours to read: ${cause.message}`);
    });
  const [ca, cert, key] = await Promise.all(['ca.crt', 'admin.crt', 'admin.key'].map(read));
  return { address: server ?? defaultListen, ca: ca!, cert, key };
}

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Command } from 'commander';
import { findCondition } from '../../api/meta/conditions.ts';
import type { Client } from '../../client/index.ts';
import { localConnection } from '../daemon.ts';
import { describeFailure, ExitWith } from '../failure.ts';
import { defaultDataDir, defaultListen, defaultNodeName, installation, localAddress } from '../paths.ts';
import { isSupervised, type ProcessName, processPid, startLog, startSupervised, stopSupervised } from '../processes.ts';
import { interruptSignal } from '../session.ts';

interface UpFlags {
  readonly detach?: boolean;
  readonly dataDir: string;
  readonly listen: string;
  readonly advertise?: string;
  readonly nodeName: string;
  readonly sandboxImage?: string;
}

const startTimeoutMs = 60_000;

export function registerUp(program: Command): void {
  program
    .command('up')
    .description('Start Berth on this machine: the API server, the scheduler and an agent')
    .option('-d, --detach', 'return when it is ready, and leave it running')
    .option('--data-dir <folder>', 'where its state lives', defaultDataDir())
    .option('--listen <address>', 'where the API listens', defaultListen)
    .option('--advertise <host>', 'the address under which others reach the API, when it is another')
    .option('--node-name <name>', "this machine's name as a node", defaultNodeName())
    .option('--sandbox-image <image>', 'the image of pod sandboxes, instead of the one that is made here')
    .action(up);
}

async function up(flags: UpFlags): Promise<void> {
  const { checkDocker } = await import('../../agent/main.ts');
  const docker = await checkDocker();
  tick(`${docker.runtime} answers (API ${docker.apiVersion}, cgroup v${docker.cgroupVersion})`);

  const running = (['server', 'agent'] as const).filter(
    (name) => isSupervised(flags.dataDir, name) || processPid(flags.dataDir, name),
  );
  if (running.length === 2) process.stdout.write(`Berth already runs from ${flags.dataDir}; nothing to do.\n`);
  const fresh = new Set<ProcessName>(
    running.length === 2 ? [] : (['server', 'agent'] as const).filter((name) => !running.includes(name)),
  );

  if (fresh.has('server'))
    startSupervised(flags.dataDir, 'server', ['--listen', flags.listen, ...option('--advertise', flags.advertise)]);
  const client = await waitForServer(flags);
  try {
    tick(`API server on ${flags.listen}`);
    await writeContext(flags);
    tick('context "berth" written to the configuration');
    if (fresh.has('agent')) {
      startSupervised(flags.dataDir, 'agent', [
        '--server',
        localAddress(flags.listen),
        '--node-name',
        flags.nodeName,
        ...option('--sandbox-image', flags.sandboxImage),
      ]);
    }
    await waitForNode(client, flags);
    tick(`node ${flags.nodeName} is Ready`);
  } finally {
    client.close();
  }
  process.stdout.write('\nNext:\n  berth get nodes\n  berth apply -f examples/hello.yaml\n  berth get pods -w\n');
  if (!flags.detach) await stayAttached(flags);
}

function tick(text: string): void {
  process.stdout.write(`${process.stdout.isTTY ? '\u001b[32m✓\u001b[0m' : '✓'} ${text}\n`);
}

function option(name: string, value: string | undefined): string[] {
  return value === undefined ? [] : [name, value];
}

/** Connects as administrator once the server has made its certificates and answers. */
async function waitForServer(flags: UpFlags): Promise<Client> {
  const { connect } = await import('../../client/index.ts');
  const deadline = Date.now() + startTimeoutMs;
  let last: unknown;
  while (Date.now() < deadline) {
    if (['ca.crt', 'admin.crt', 'admin.key'].every((name) => existsSync(join(installation(flags.dataDir).pki, name)))) {
      const client = connect(localConnection(flags.dataDir, localAddress(flags.listen), 'admin'));
      try {
        await client.namespaces.get({ name: 'default' }, { timeoutMs: 2_000 });
        return client;
      } catch (error) {
        client.close();
        last = error;
      }
    }
    await failIfEnded(flags, 'server');
    await delay(50);
  }
  throw new ExitWith(
    1,
    `the API server does not answer on ${flags.listen}: ${last ? describeFailure(last) : 'it did not start'}; see ${logOf(flags, 'server')}`,
  );
}

async function waitForNode(client: Client, flags: UpFlags): Promise<void> {
  const deadline = Date.now() + startTimeoutMs;
  let why = 'the node has not registered';
  while (Date.now() < deadline) {
    try {
      const node = await client.nodes.get({ name: flags.nodeName }, { timeoutMs: 2_000 });
      const ready = findCondition(node.status?.conditions, 'Ready');
      if (ready?.status === 'True') return;
      why = ready?.message || why;
    } catch (error) {
      why = describeFailure(error);
    }
    await failIfEnded(flags, 'agent');
    await delay(100);
  }
  throw new ExitWith(1, `node ${flags.nodeName} is not ready: ${why}; see ${logOf(flags, 'agent')}`);
}

/** A process that printed an error before it had a log does not get better by waiting. */
async function failIfEnded(flags: UpFlags, name: ProcessName): Promise<void> {
  const printed = startLog(flags.dataDir, name)
    .split('\n')
    .find((line) => line.startsWith('error: '));
  if (printed === undefined) return;
  await stopSupervised(flags.dataDir, name);
  throw new ExitWith(1, `the ${name} does not start: ${printed.slice('error: '.length)}; see ${logOf(flags, name)}`);
}

function logOf(flags: UpFlags, name: ProcessName): string {
  return join(installation(flags.dataDir).logs, `${name}.log`);
}

async function writeContext(flags: UpFlags): Promise<void> {
  const { upsertContext } = await import('../../client/index.ts');
  const pki = installation(flags.dataDir).pki;
  const read = (name: string): string => readFileSync(join(pki, name), 'utf8');
  await upsertContext({
    name: 'berth',
    use: true,
    options: { address: localAddress(flags.listen), ca: read('ca.crt'), cert: read('admin.crt'), key: read('admin.key') },
  });
}

async function stayAttached(flags: UpFlags): Promise<void> {
  process.stdout.write(
    `\nBerth runs until you press Ctrl-C; its containers go on running. Logs: ${installation(flags.dataDir).logs}\n`,
  );
  const signal = interruptSignal();
  // A timer keeps the process alive: a pending promise alone does not.
  const alive = setInterval(() => undefined, 1 << 30);
  await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
  clearInterval(alive);
  await stopSupervised(flags.dataDir, 'agent');
  await stopSupervised(flags.dataDir, 'server');
  process.stdout.write('\nBerth has stopped; "berth up" starts it again.\n');
}

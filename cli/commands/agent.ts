import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Command, Option } from 'commander';
import { logLevels } from '../../api/meta/log-level.ts';
import type { ConnectOptions } from '../../client/index.ts';
import { type DaemonFlags, runDaemon } from '../daemon.ts';
import { defaultMetricsAddress } from '../metrics/serve.ts';
import { defaultDataDir, defaultListen, defaultNodeName, installation } from '../paths.ts';
import type { GlobalFlags } from '../session.ts';

interface AgentFlags extends DaemonFlags, GlobalFlags {
  readonly server?: string;
  readonly nodeName: string;
  readonly sandboxImage?: string;
  readonly dockerSocket?: string;
}

export function registerAgent(program: Command): void {
  program
    .command('agent')
    .description('Run the agent of a node in the foreground')
    .option('--server <address>', 'the address of the API server')
    .option('--node-name <name>', "this machine's name as a node", defaultNodeName())
    .option('--data-dir <folder>', 'where its state lives', defaultDataDir())
    .option('--sandbox-image <image>', 'the image of pod sandboxes, instead of the one that is made here')
    .option('--docker-socket <path>', "the Docker Engine's socket")
    .option(
      '--metrics-address <address>',
      `where metrics are served, or "off" (default: ${defaultMetricsAddress.agent}, or a free port)`,
    )
    .option('--log-file <file>', 'log into this file, which is kept bounded')
    .addOption(new Option('--log-level <level>', 'how much to log').choices(logLevels).default('info'))
    .action(agent);
}

async function agent(_flags: AgentFlags, command: Command): Promise<void> {
  const flags = command.optsWithGlobals<AgentFlags>();
  const { runAgent } = await import('../../agent/main.ts');
  const { connect } = await import('../../client/index.ts');
  const client = connect(await nodeConnection(flags));
  const { nodeName, dataDir, sandboxImage, dockerSocket } = flags;
  try {
    await runDaemon({ component: 'agent', instance: nodeName, flags }, ({ alone, signal, ...observed }) =>
      runAgent({ client, nodeName, dataDir, sandboxImage, dockerSocket, locked: alone, ...observed }, signal),
    );
  } finally {
    client.close();
  }
}

/** With the CA's key at hand (the server's own machine) the node gets a certificate of its own; elsewhere it uses the current context. */
async function nodeConnection(flags: AgentFlags): Promise<ConnectOptions> {
  const userAgent = `berth-agent/${flags.nodeName}`;
  if (existsSync(join(installation(flags.dataDir).pki, 'ca.key'))) {
    const { issueNodeCredentials } = await import('../../apiserver/main.ts');
    const files = await issueNodeCredentials(flags.dataDir, flags.nodeName);
    const [ca, cert, key] = [files.ca, files.certificate, files.key].map((file) => readFileSync(file, 'utf8'));
    return { address: flags.server ?? defaultListen, userAgent, ca: ca ?? '', cert, key };
  }
  const { loadContext } = await import('../../client/index.ts');
  const { options } = await loadContext(flags.context);
  return { ...options, userAgent, address: flags.server ?? options.address };
}

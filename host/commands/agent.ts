import { X509Certificate } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import type { HeldCertificate } from '../../agent/main.ts';
import { packageVersion } from '../../cli/commands/version.ts';
import { ExitWith } from '../../cli/program/failure.ts';
import type { GlobalFlags } from '../../cli/session.ts';
import type { ConnectOptions } from '../../client/index.ts';
import { type DaemonFlags, runDaemon } from '../daemon/daemon.ts';
import { type AgentTuning, withAgentTuning } from '../flags/agent-flags.ts';
import { imageOptionsOf } from '../flags/image-flags.ts';
import { podNetworkOf } from '../flags/pod-network-flag.ts';
import { parseRestartPeriod } from '../flags/restart-period.ts';
import { parseRegistration, registrationErrors } from '../join/registration.ts';
import { defaultMetricsAddress } from '../metrics/serve.ts';
import { defaultDataDir, defaultListen, defaultNodeName, installation } from '../paths.ts';

interface AgentFlags extends DaemonFlags, GlobalFlags, AgentTuning {
  readonly server?: string;
  readonly nodeName: string;
  readonly dockerSocket?: string;
}

export function registerAgent(program: Command): void {
  const command = program
    .command('agent')
    .description('Run the agent of a node in the foreground')
    .option('--server <address>', 'the address of the API server')
    .option('--node-name <name>', "this machine's name as a node", defaultNodeName())
    .option('--data-dir <folder>', 'where its state lives', defaultDataDir())
    .option('--docker-socket <path>', "the Docker Engine's socket")
    .option(
      '--metrics-address <address>',
      `where metrics are served, or "off" (default: ${defaultMetricsAddress.agent}, or a free port)`,
    )
    .option('--log-file <file>', 'log into this file, with rotation');
  withAgentTuning(command).action(agent);
}

async function agent(_flags: AgentFlags, command: Command): Promise<void> {
  const flags = command.optsWithGlobals<AgentFlags>();
  const { runAgent } = await import('../../agent/main.ts');
  const { connect } = await import('../../client/index.ts');
  const errors = registrationErrors(flags);
  if (errors.length > 0) throw new ExitWith(1, errors.join('\n'));
  const registration = parseRegistration(flags);
  const { options, held } = await nodeConnection(flags);
  const client = connect(options);
  const imageOptions = imageOptionsOf(flags);
  const { nodeName, dataDir, sandboxImage, maxContainerPids, podRoutes, dockerSocket } = flags;
  const staticPodPath = flags.podManifestPath || undefined;
  const maxContainerRestartMs = parseRestartPeriod(flags.maxContainerRestartPeriod);
  try {
    await runDaemon({ component: 'agent', instance: nodeName, flags }, ({ alone, signal, ...observed }) =>
      runAgent(
        {
          client,
          server: options.address,
          nodeName,
          dataDir,
          sandboxImage,
          maxContainerPids,
          podNetwork: podNetworkOf(flags.podNetwork),
          podRoutes,
          dockerSocket,
          imageOptions,
          maxContainerRestartMs,
          staticPodPath,
          registration,
          held,
          locked: alone,
          ...observed,
        },
        signal,
      ),
    );
  } finally {
    client.close();
  }
}

interface NodeConnection {
  readonly options: ConnectOptions;
  /** The node's own certificate, which the agent renews. */
  readonly held?: HeldCertificate;
}

/**
 * With the CA's key at hand (the server's own machine) the node gets a certificate of its own; a machine that has
 * joined has one; elsewhere the agent uses the current context.
 */
async function nodeConnection(flags: AgentFlags): Promise<NodeConnection> {
  const { nodeName, dataDir, server } = flags;
  const userAgent = `berth-agent/${nodeName} berth/${packageVersion()}`;
  const asNode = (address: string, ca: string, held: HeldCertificate): NodeConnection => ({
    options: { address, userAgent, ca, certificate: held.current },
    held,
  });
  const { holdCertificate, readIdentity } = await import('../../agent/main.ts');
  if (existsSync(join(installation(dataDir).pki, 'ca.key'))) {
    const { issueNodeCredentials } = await import('../../apiserver/node-credentials.ts');
    const { authority, pair, save } = await issueNodeCredentials(dataDir, nodeName);
    return asNode(server ?? defaultListen, authority, holdCertificate({ first: { ...pair, ca: authority }, save }));
  }
  const joined = await readIdentity(dataDir, nodeName);
  if (joined !== undefined) {
    if (server === undefined)
      throw new ExitWith(1, '--server is missing: the address of the server that this machine has joined');
    refuseEnded(joined.held, nodeName);
    return asNode(server, joined.authority, joined.held);
  }
  const { loadContext } = await import('../../client/index.ts');
  const { options } = await loadContext(flags.context);
  return { options: { ...options, userAgent, address: server ?? options.address } };
}

/** A machine that was off for long; no server takes it any more. */
function refuseEnded(held: HeldCertificate, nodeName: string): void {
  const { validTo } = new X509Certificate(held.current().certificate);
  if (Date.parse(validTo) > Date.now()) return;
  throw new ExitWith(
    1,
    `the certificate of node ${nodeName} ended on ${validTo}: "berth token create" on the server prints a line that joins this machine again; containers go on running`,
  );
}

import { X509Certificate } from 'node:crypto';
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { parseTokenText } from '../../api/kinds/secret/bootstrap-token.ts';
import { authorityHash, splitCertificates } from '../../api/meta/authority.ts';
import { subdomainNameError } from '../../api/meta/names.ts';
import { packageVersion } from '../../cli/commands/version.ts';
import { ExitWith } from '../../cli/program/failure.ts';
import { interruptSignal } from '../../cli/session.ts';
import {
  mergePassed,
  type PassedFlags,
  passedArguments,
  passedChanges,
  passedErrors,
  passedOf,
  passedRegistration,
  withPassedFlags,
} from '../flags/passed-flags.ts';
import {
  type InstallationRecord,
  makeDataDir,
  readRecord,
  restoreRecord,
  writeRecord,
} from '../installation/installation-record.ts';
import { describeJoinFailure, versionProblem } from '../join/describe-failure.ts';
import { joinHost } from '../join/join-address.ts';
import { type Endpoint, JoinProblem, parseAuthorityHash } from '../join/judge-server.ts';
import { meetServer } from '../join/meet-server.ts';
import { tellLacking } from '../join/registration.ts';
import { defaultDataDir, defaultNodeName, installation, parseListen } from '../paths.ts';
import { checkMachine, stayAttached, tellKept, withInstallation } from '../processes/on-this-machine.ts';
import { findRunning, startSupervised, stopSupervised } from '../processes/processes.ts';
import { readService } from '../service/service-record.ts';
import { createSteps, type Steps } from '../steps.ts';

export interface JoinFlags {
  readonly token?: string;
  readonly caHash?: readonly string[];
  readonly nodeName?: string;
  readonly dataDir: string;
  readonly detach?: boolean;
  readonly metricsAddress?: string;
}

/** One run of the command. */
export interface Run {
  readonly dataDir: string;
  readonly nodeName: string;
  readonly endpoint: Endpoint;
  readonly before: InstallationRecord | undefined;
  readonly flags: JoinFlags;
  readonly steps: Steps;
  readonly signal: AbortSignal;
}

export function registerJoin(program: Command): void {
  const command = program
    .command('join [address]')
    .description('Join this machine to a cluster as a node: "berth token create" on the server prints the command')
    .option('--token <token>', "permits the request for this machine's certificate")
    .option('--ca-hash <hash...>', "the hash of the key of the cluster's authority, sha256:HEX: no other server is trusted")
    .option('--node-name <name>', `this machine's name as a node (default: as before, at first ${defaultNodeName()})`)
    .option('-d, --detach', 'return when the node is ready, and leave it running')
    .option('--data-dir <folder>', 'where its state lives', defaultDataDir())
    .option('--metrics-address <address>', 'where the agent serves its metrics, or "off"');
  withPassedFlags(command, ['agent']).action(join);
}

async function join(address: string | undefined, flags: JoinFlags): Promise<void> {
  const dataDir = resolve(flags.dataDir);
  const steps = createSteps(process.stdout, process.stderr);
  const signal = interruptSignal();
  const isStarted = await withInstallation(dataDir, 'berth join', steps, async () => {
    const before = readRecord(dataDir);
    const nodeName = flags.nodeName ?? before?.nodeName ?? defaultNodeName();
    return perform({ dataDir, nodeName, endpoint: readEndpoint(address, before, dataDir), before, flags, steps, signal });
  }).catch((error: unknown) => {
    throw error instanceof JoinProblem ? new ExitWith(1, `cannot join: ${error.message}`) : error;
  });
  const what = 'The agent';
  // A service does not end with the terminal.
  if (isStarted && !flags.detach && readService(dataDir) === undefined)
    await stayAttached({ dataDir, names: ['agent'], what, command: 'berth join', steps, signal });
}

/** Where the server is: given, or as before. A machine is a node of one cluster. */
export function readEndpoint(text: string | undefined, before: InstallationRecord | undefined, dataDir: string): Endpoint {
  if (before !== undefined && before.joined === undefined)
    throw new ExitWith(
      1,
      `${dataDir} belongs to a server of its own: "berth down --purge --data-dir ${dataDir}" removes it with everything in it, or join from another --data-dir`,
    );
  if (text === undefined && before?.joined === undefined)
    throw new ExitWith(
      1,
      'the address of the server is missing: "berth token create" on its machine prints the line to run here',
    );
  const given = text ?? before?.joined ?? '';
  const endpoint = parseListen(given) ?? parseListen(`${given}:7443`);
  if (endpoint === undefined)
    throw new ExitWith(1, `"${given}" is no address of a server: give HOST or HOST:PORT, an IPv6 address in brackets`);
  return endpoint;
}

/** Whether it started something. */
async function perform(run: Run): Promise<boolean> {
  const { dataDir, nodeName, before, endpoint, steps, flags } = run;
  const address = joinHost(endpoint.host, endpoint.port);
  const { agent } = findRunning(dataDir);
  const isRunning = agent.keeper !== undefined || agent.process !== undefined;
  if (isRunning && before?.joined === address && before.nodeName === nodeName) {
    steps.say(`This machine runs as node ${nodeName} of the cluster at ${address} already; nothing was changed.`);
    const ignored = passedChanges(mergePassed(before.passed, passedOf(flags)), before.passed);
    if (ignored.length > 0)
      steps.warn(
        `not applied: ${ignored.map((each) => `${each.flag} ${each.next} (it runs with ${each.before})`).join(', ')}`,
        'berth down, then berth join with these flags; containers go on running meanwhile',
      );
    return false;
  }
  if (isRunning)
    throw new ExitWith(
      1,
      `an agent runs from ${dataDir}, as node ${before?.nodeName} of ${before?.joined}: "berth down" ends it first; containers go on running`,
    );
  const mistakes = findMistakes(flags, nodeName);
  if (mistakes.length > 0) throw new ExitWith(1, mistakes.join('\n'));
  const passed = mergePassed(before?.passed, passedOf(flags));
  await checkMachine({ dataDir, listen: undefined, nodeName, serverRuns: false, passed, steps });
  await ensureCertificate(run, address);
  await startJoined(run, address);
  return true;
}

export function findMistakes(flags: JoinFlags, nodeName: string): string[] {
  const { token, caHash = [] } = flags;
  const errors: string[] = [];
  const rule = subdomainNameError(nodeName);
  if (rule) errors.push(`--node-name "${nodeName}" ${rule}`);
  if (token !== undefined && parseTokenText(token) === undefined)
    errors.push(
      '--token is no join token: it must be ID.SECRET, six and sixteen small letters and digits, as "berth token create" prints it',
    );
  const wrong = caHash.find((hash) => parseAuthorityHash(hash) === undefined);
  if (wrong !== undefined)
    errors.push(`--ca-hash "${wrong}" must be sha256: and 64 hexadecimal digits, as "berth token create" prints it`);
  return [...errors, ...passedErrors(passedOf(flags))];
}

/** A certificate that this machine has, and that is good, is used again: then no token is needed. */
export async function ensureCertificate(run: Run, address: string): Promise<void> {
  const { dataDir, nodeName, flags, endpoint, steps, signal } = run;
  const { readIdentity, requestCertificate, saveIdentity } = await import('../../agent/main.ts');
  const known = await readIdentity(dataDir, nodeName).catch((error: Error) =>
    steps.warn(error.message, 'a new certificate is asked for'),
  );
  const hashes = (flags.caHash ?? []).map((hash) => parseAuthorityHash(hash) ?? '');
  if (known && isGood(known.held.current().certificate, known.authority, hashes)) {
    steps.ok(`this machine has a certificate of node ${nodeName} already`);
    return;
  }
  if (flags.token === undefined || hashes.length === 0)
    throw new ExitWith(
      1,
      '--token and --ca-hash are needed to join: "berth token create" on the server prints the line to run here',
    );
  steps.wait(`looking for the server at ${address}`);
  const { authority, skew } = await meetServer(endpoint, hashes, Date.now);
  steps.ok(`the server at ${address} is the one that was meant (${authorityHash(authority)})`);
  if (skew !== undefined) steps.warn(skew, 'let both machines take the time from a server (timedatectl set-ntp true)');
  steps.wait('asking for a certificate');
  const { connect, systemClock } = await import('../../client/index.ts');
  const ca = authority.toString();
  const client = connect({ address, ca, token: flags.token, userAgent: 'berth-join' });
  try {
    const requests = client.resource('CertificateSigningRequest');
    const issued = await requestCertificate({ client: requests, nodeName, clock: systemClock, signal });
    const problem = versionProblem(packageVersion(), issued.serverVersion);
    if (problem !== undefined) throw new JoinProblem(problem);
    // Before anything is written there, so that a purge knows who made the folder.
    makeDataDir(dataDir);
    await saveIdentity(dataDir, nodeName, ca, issued);
    steps.ok(`certificate of node ${nodeName}, until ${new X509Certificate(issued.certificate).validTo}`);
  } catch (error) {
    throw describeJoinFailure(error, flags.token);
  } finally {
    client.close();
  }
}

/** Of two authorities, one of which takes over from the other, either may have signed it, and either may be meant. */
function isGood(certificate: string, authorities: string, hashes: readonly string[]): boolean {
  const leaf = new X509Certificate(certificate);
  const known = splitCertificates(authorities).map((pem) => new X509Certificate(pem));
  const isMeant = hashes.length === 0 || known.some((each) => hashes.includes(authorityHash(each)));
  return isMeant && known.some(({ publicKey }) => leaf.verify(publicKey)) && Date.parse(leaf.validTo) > Date.now();
}

export interface JoinedNode {
  readonly address: string;
  readonly nodeName: string;
  readonly metricsAddress: string | undefined;
  readonly passed: PassedFlags | undefined;
}

/** What the agent of a machine that has joined is started with. */
export function joinedArguments({ address, nodeName, metricsAddress, passed }: JoinedNode): string[] {
  const metrics = metricsAddress === undefined ? [] : ['--metrics-address', metricsAddress];
  return ['--server', address, '--node-name', nodeName, ...metrics, ...passedArguments('agent', passed)];
}

/**
 * Starts the agent and waits until the node is ready. What it started it stops again when that fails or is interrupted.
 */
export async function startJoined({ dataDir, nodeName, before, flags, steps, signal }: Run, address: string): Promise<void> {
  const { readIdentity } = await import('../../agent/main.ts');
  const { connect } = await import('../../client/index.ts');
  const { waitForNode } = await import('../processes/readiness.ts');
  const identity = await readIdentity(dataDir, nodeName);
  if (identity === undefined)
    throw new ExitWith(1, `the certificate of node ${nodeName} is gone from ${installation(dataDir).pki}: join again`);
  const metricsAddress = flags.metricsAddress ?? before?.agentMetricsAddress;
  const passed = mergePassed(before?.passed, passedOf(flags));
  writeRecord(dataDir, { listen: '', nodeName, joined: address, agentMetricsAddress: metricsAddress, passed });
  const sinceMs = Date.now();
  const client = connect({ address, ca: identity.authority, certificate: identity.held.current, userAgent: 'berth-join' });
  try {
    tellKept(startSupervised(dataDir, 'agent', joinedArguments({ address, nodeName, metricsAddress, passed })), steps);
    const awaited = { dataDir, listen: '', nodeName, wait: steps.wait, signal };
    await waitForNode(awaited, client, { version: `v${packageVersion()}`, sinceMs });
    await tellLacking(client, nodeName, passedRegistration(passed), steps);
  } catch (error) {
    await stopSupervised(dataDir, ['agent']);
    restoreRecord(dataDir, before);
    throw error;
  } finally {
    client.close();
  }
  steps.ok(`node ${nodeName} is ready (after ${(process.uptime()).toFixed(1)} s)`);
  steps.say(
    `\nThis machine is node ${nodeName} of the cluster at ${address}. berth down ends it, berth join starts it again; containers go on running.`,
  );
}

import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline/promises';
import type { Command } from 'commander';
import { shareCertificate } from '../../api/meta/authority.ts';
import { drawingOn } from '../../cli/printers/terminal-guard.ts';
import { ExitWith } from '../../cli/program/failure.ts';
import { defaultDataDir, installation } from '../paths.ts';
import { listBerthProcesses } from '../processes/berth-processes.ts';
import { stopAll } from '../processes/processes.ts';
import { readService } from '../service/service-record.ts';

interface DownFlags {
  readonly dataDir: string;
  readonly purge?: boolean;
  readonly yes?: boolean;
}

export function registerDown(program: Command): void {
  program
    .command('down')
    .description('Stop Berth on this machine; containers keep running')
    .option('--data-dir <folder>', 'where its state lives', defaultDataDir())
    .option('--purge', 'also remove every container, image and file that Berth made here')
    .option('-y, --yes', 'with --purge: do not ask; required without a terminal')
    .action(down);
}

async function down(flags: DownFlags): Promise<void> {
  const dataDir = resolve(flags.dataDir);
  const { lockUp, preparePurge } = await import('../../agent/main.ts');
  const say = (text: string): void => void process.stdout.write(`${text}\n`);
  let waitsFor = '';
  const lock = await lockUp(dataDir, 'berth down', (other) => {
    if (other !== waitsFor) say(`another command is at work on ${dataDir}: ${other}; waiting for it`);
    waitsFor = other;
  });
  try {
    const service = readService(dataDir);
    if (service !== undefined && flags.purge)
      throw new ExitWith(1, `Berth in ${dataDir} is a service of this machine: "berth uninstall --purge" removes all of it`);
    // Before anything is stopped: what cannot be purged now is better left as it is.
    if (flags.purge && !flags.yes) requireTerminal();
    const scope = flags.purge ? await preparePurge(dataDir) : undefined;
    if (scope !== undefined && !flags.yes) await confirmPurge(dataDir);
    // In another folder there is nothing to stop, and none to make for it.
    const running = () => listBerthProcesses().map((each) => each.dataDir);
    const ran = await stopAll(dataDir);
    say(ran.length > 0 ? 'Berth has stopped.' : `Berth did not run from ${dataDir}.${tellOthers(dataDir, running())}`);
    if (service !== undefined)
      say(
        'It is a service of this machine, and starts again with it; "berth up" (or "berth join") starts it now, "berth uninstall" ends that.',
      );
    if (!flags.purge) return;
    if (scope === undefined) return say(tellNothing(dataDir));
    await purgeAll(scope, say);
  } finally {
    await lock.release();
  }
}

/** Where people may have meant instead: none of several is more likely than another. Pure. */
export function tellOthers(dataDir: string, running: readonly string[]): string {
  const others = [...new Set(running)].filter((each) => each !== dataDir).toSorted();
  if (others.length === 0) return '';
  if (others.length === 1) return ` One runs from ${others[0]}: berth down --data-dir ${others[0]}`;
  return ` ${others.length} run from other folders (berth down --data-dir FOLDER): ${others.join(', ')}`;
}

function tellNothing(dataDir: string): string {
  return existsSync(dataDir)
    ? `${dataDir} is no data directory of Berth; nothing was removed.`
    : `There is no ${dataDir}; nothing to remove.`;
}

/** Throws ExitWith where no question can be asked: scripts say `--yes`. */
export function requireTerminal(): void {
  if (!process.stdin.isTTY)
    throw new ExitWith(1, 'there is no terminal to ask at: add --yes to remove all data; nothing was stopped or removed');
}

/** Data is lost for good: a person at a terminal is asked, wherever the output goes. */
export async function confirmPurge(dataDir: string): Promise<void> {
  const output = process.stdout.isTTY && !process.stderr.isTTY ? process.stdout : process.stderr;
  const terminal = createInterface({ input: process.stdin, output: drawingOn(output) });
  // Ctrl-C and the end of the input are no answer.
  const unanswered = once(terminal, 'close').then(() => '');
  try {
    const question = `This removes all containers of Berth's pods, their volumes, the images it pulled, and ${dataDir} with all objects. Go on? [y/N] `;
    const answer = await Promise.race([terminal.question(question).catch(() => ''), unanswered]);
    if (!/^y(es)?$/i.test(answer.trim())) throw new ExitWith(1, 'nothing was stopped or removed');
  } finally {
    terminal.close();
  }
}

export async function purgeAll(
  scope: { readonly dataDir: string; readonly nodeNames: readonly string[] },
  say: (text: string) => void,
): Promise<void> {
  const { purge } = await import('../../agent/main.ts');
  const authority = ownAuthority(scope.dataDir);
  let failures = 0;
  for await (const { kind, what } of purge(scope)) {
    if (kind === 'failed') {
      failures++;
      process.stderr.write(`cannot remove ${what}\n`);
    } else say(`${kind} ${what}`);
  }
  if (failures > 0) throw new ExitWith(1, 'not everything could be removed: mend that and run "berth down --purge" again');
  if (authority !== undefined) await forgetContexts(authority, say);
}

/** Removes the contexts of an installation that is gone from Berth's configuration and from kubectl's. */
async function forgetContexts(authority: string, say: (text: string) => void): Promise<void> {
  const { listContexts, loadContext, removeContext } = await import('../../client/index.ts');
  for (const { name } of await listContexts().catch(() => [])) {
    // Another installation may have written its own under the usual name meanwhile.
    const known = await loadContext(name).catch(() => undefined);
    if (known === undefined || !shareCertificate(known.options.ca, authority)) continue;
    await removeContext(name);
    say(`removed context "${name}" from the configuration`);
  }
  const { forgetAuthority } = await import('../../cli/kubeconfig/forget-authority.ts');
  const { kubeconfigPaths } = await import('../../cli/kubeconfig/kubeconfig-file.ts');
  for (const path of kubeconfigPaths()) {
    try {
      for (const entry of await forgetAuthority(path, authority)) say(`removed ${entry} from ${path}`);
    } catch (error) {
      // The purge is done, and the file is another program's.
      process.stderr.write(`cannot remove the contexts of this installation: ${(error as Error).message}\n`);
    }
  }
}

/**
 * The certificates of the installation's authority. Undefined without its key: the authority is another machine's,
 * which this one joined or tried to join, and a context that trusts it is a person's.
 */
export function ownAuthority(dataDir: string): string | undefined {
  const { pki } = installation(dataDir);
  try {
    return existsSync(join(pki, 'ca.key')) ? readFileSync(join(pki, 'ca.crt'), 'utf8') : undefined;
  } catch {
    // No server has started here: no context belongs to the installation.
    return undefined;
  }
}

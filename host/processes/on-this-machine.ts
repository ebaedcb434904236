import { setTimeout as delay } from 'node:timers/promises';
import { ExitWith } from '../../cli/program/failure.ts';
import type { PassedFlags } from '../flags/passed-flags.ts';
import { podNetworkOf } from '../flags/pod-network-flag.ts';
import { installation } from '../paths.ts';
import type { Steps } from '../steps.ts';
import { listBerthProcesses, type ProcessName } from './berth-processes.ts';
import { findRunning, stopSupervised } from './processes.ts';

/** Runs while no other command changes what runs from a data folder; waits for one that does, and says so. */
export async function withInstallation<T>(dataDir: string, command: string, steps: Steps, run: () => Promise<T>): Promise<T> {
  const { lockUp } = await import('../../agent/main.ts');
  const lock = await lockUp(dataDir, command, (other) =>
    steps.wait(`another command is at work on ${dataDir}: ${other}; waiting for it`),
  );
  try {
    return await run();
  } finally {
    await lock.release();
  }
}

export interface MachineCheck {
  readonly dataDir: string;
  /** Where a server will listen; undefined for none. */
  readonly listen: { readonly host: string; readonly port: number } | undefined;
  readonly nodeName: string;
  readonly serverRuns: boolean;
  /** Flags of the agent that will run. */
  readonly passed: PassedFlags | undefined;
  readonly steps: Steps;
}

/** Looks at the machine and shows everything that is wrong. Throws ExitWith when something has to be mended first. */
export async function checkMachine({ steps, passed, ...wanted }: MachineCheck): Promise<void> {
  const { preflight } = await import('../../agent/main.ts');
  steps.wait('looking at this machine');
  const others = listBerthProcesses().filter((each) => each.dataDir !== wanted.dataDir && !each.isKeeper);
  const isRouted = podNetworkOf(passed?.['--pod-network']?.[0]) === 'routed';
  const checks = await preflight({ ...wanted, others, isRouted });
  for (const { level, message, advice = '' } of checks) {
    if (level === 'ok') steps.ok(message);
    else steps[level](message, advice);
  }
  const failed = checks.filter(({ level }) => level === 'fail').length;
  if (failed > 0)
    throw new ExitWith(1, `${failed === 1 ? 'one thing has' : `${failed} things have`} to be mended first; nothing was started`);
}

/** Of a service's file that had been edited by hand, and was written anew. */
export function tellKept(path: string | undefined, steps: Steps): void {
  if (path !== undefined)
    steps.warn(
      `a file of the service had been changed by hand; it was kept as ${path}`,
      'changes of a unit belong into "systemctl edit", which no install touches',
    );
}

export interface Attachment {
  readonly dataDir: string;
  /** What Ctrl-C ends, in this order. */
  readonly names: readonly ProcessName[];
  /** For people, as the start of a sentence: "Berth", "The agent". */
  readonly what: string;
  /** The command that starts it again. */
  readonly command: string;
  readonly steps: Steps;
  readonly signal: AbortSignal;
}

/** Until Ctrl-C, which ends the processes, or until another process ended them. */
export async function stayAttached({ dataDir, names, what, command, steps, signal }: Attachment): Promise<void> {
  steps.say(`\n${what} runs until you press Ctrl-C; its containers go on running. Logs: ${installation(dataDir).logs}`);
  while (!signal.aborted) {
    await delay(1_000, undefined, { signal }).catch(() => undefined);
    const running = findRunning(dataDir);
    if (signal.aborted || names.some((name) => running[name].keeper || running[name].process)) continue;
    return steps.say(`\n${what} was stopped by another command.`);
  }
  await stopSupervised(dataDir, names);
  steps.say(`\n${what} has stopped; "${command}" starts it again.`);
}

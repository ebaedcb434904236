import { badRequest } from '../../api/errors/index.ts';
import { resourceOf } from '../../api/kinds/identity.ts';
import { parseResourceArguments } from '../args/resource-args.ts';
import { findTargets, type Target, type TargetFlags } from '../get/targets.ts';
import { describeFailure, ExitWith } from '../program/failure.ts';
import type { Session } from '../session.ts';

/** The kinds that are rolled out. */
export const rolledOutKinds = ['Deployment', 'DaemonSet', 'StatefulSet'] as const;

/**
 * The workloads that a `rollout` command is about; of a type without names all of the namespace, as in kubectl. Throws
 * INVALID_ARGUMENT for other kinds, before anything is done.
 */
export async function rolloutTargets(
  session: Session,
  words: readonly string[],
  flags: TargetFlags,
  { verb, kinds = rolledOutKinds }: { readonly verb: string; readonly kinds?: readonly string[] | undefined },
): Promise<{ readonly targets: readonly Target[]; readonly failed: number }> {
  const all = !flags.filename && !flags.selector && parseResourceArguments(words).some(({ names }) => names.length === 0);
  const { targets, failed } = await findTargets(session, words, all ? { ...flags, all } : flags, verb);
  for (const { kind } of targets)
    if (!kinds.includes(kind.kind)) {
      const known = kinds.map((each) => `${each.toLowerCase()}s`).join(', ');
      throw badRequest(`rollout ${verb} is not supported on ${resourceOf(kind)}: it is for ${known}`);
    }
  if (targets.length === 0 && failed === 0) throw new ExitWith(1, `no resources found in ${session.namespace} namespace`);
  return { targets, failed };
}

/** Calls `act` for each target. The error of one is printed and does not stop the others. */
export async function eachTarget(
  { targets, failed }: { readonly targets: readonly Target[]; readonly failed: number },
  act: (target: Target) => Promise<void>,
): Promise<void> {
  let errors = failed;
  for (const target of targets) {
    try {
      await act(target);
    } catch (error) {
      errors++;
      process.stderr.write(`error: ${describeFailure(error)}\n`);
    }
  }
  if (errors > 0) throw new ExitWith(1);
}

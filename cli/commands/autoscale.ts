import type { Command } from 'commander';
import { badRequest } from '../../api/errors/index.ts';
import { kindWord } from '../../api/kinds/custom/kind-word.ts';
import type { AutoscalerFlags } from '../generators/autoscaler.ts';
import { findTargets, type Target, type TargetFlags } from '../get/targets.ts';
import { describeFailure, ExitWith } from '../program/failure.ts';
import { type Session, withSession } from '../session.ts';
import { type WriteFlags, WritePrinter, withManifestFlags, withWriteFlags } from '../write/write-options.ts';

type AutoscaleFlags = AutoscalerFlags & Pick<TargetFlags, 'filename' | 'recursive'> & WriteFlags;

export function registerAutoscale(program: Command): void {
  const command = program
    .command('autoscale')
    .description('Create a HorizontalPodAutoscaler, which sets how many pods a workload keeps by what they use')
    .argument('[type...]', 'TYPE NAME... or TYPE/NAME...')
    .requiredOption('--max <count>', 'the most pods')
    .option('--min <count>', 'the fewest pods; 1 if not given')
    .option(
      '--cpu <target>',
      'the wanted use of CPU: 70% of the requests, or 500m for each pod on average; 80% if nothing is given',
    )
    .option('--memory <target>', 'the wanted use of memory: 70% of the requests, or 200Mi for each pod on average')
    .option('--cpu-percent <percent>', 'the older way to say --cpu=PERCENT%')
    .option('--name <name>', "the autoscaler's name; the workload's if not given")
    .action(async (words: string[], flags: AutoscaleFlags, command: Command) => {
      const { autoscalerObject } = await import('../generators/autoscaler.ts');
      const make = autoscalerObject(flags);
      const printer = await WritePrinter.for(flags);
      await withSession(command, (session) => autoscaleAll(session, words, flags, { make, printer }));
    });
  withWriteFlags(withManifestFlags(command, 'those that these manifests name'));
}

interface Autoscaling {
  readonly make: ReturnType<typeof import('../generators/autoscaler.ts').autoscalerObject>;
  readonly printer: WritePrinter;
}

async function autoscaleAll(
  session: Session,
  words: readonly string[],
  flags: AutoscaleFlags,
  { make, printer }: Autoscaling,
): Promise<void> {
  const { targets, failed } = await findTargets(session, words, flags, 'autoscale');
  for (const { kind } of targets)
    if (!kind.scale) throw badRequest(`cannot autoscale a ${kind.singular}: it has no number of replicas`);
  if (flags.name !== undefined && targets.length > 1) throw badRequest('--name is for one workload');
  const [{ createObject }, { kindNamed }] = await Promise.all([
    import('../write/write-object.ts'),
    import('../../api/kinds/index.ts'),
  ]);
  let errors = failed;
  for (const target of targets) {
    try {
      await checkThere(session, target);
      const object = make({ kind: target.kind, name: target.key.name });
      const of = { ...session, namespace: target.key.namespace ?? session.namespace };
      const made = await createObject(of, object, flags, 'berth-autoscale');
      await printer.print(kindNamed('HorizontalPodAutoscaler'), made, 'autoscaled');
    } catch (error) {
      errors++;
      process.stderr.write(`error: ${describeFailure(error)}\n`);
    }
  }
  if (errors > 0) throw new ExitWith(1);
}

/** An autoscaler of something that is not there is a slip. Throws NOT_FOUND. */
async function checkThere({ client }: Session, { kind, key }: Target): Promise<void> {
  await client.objects.get(kindWord(kind), { ...key, subresource: 'scale' });
}

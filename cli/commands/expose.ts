import { type Command, Option } from 'commander';
import { badRequest } from '../../api/errors/index.ts';
import { kindWord } from '../../api/kinds/custom/kind-word.ts';
import type { ExposeFlags } from '../generators/expose.ts';
import { findTargets, type TargetFlags } from '../get/targets.ts';
import { describeFailure, ExitWith } from '../program/failure.ts';
import { type Session, withSession } from '../session.ts';
import { type WriteFlags, WritePrinter, withManifestFlags, withWriteFlags } from '../write/write-options.ts';

type Flags = ExposeFlags & Pick<TargetFlags, 'filename' | 'recursive'> & WriteFlags;

export function registerExpose(program: Command): void {
  const command = program
    .command('expose')
    .description('Create a Service for the pods of a deployment, replicaset, replicationcontroller, pod or service')
    .argument('[type...]', 'TYPE NAME... or TYPE/NAME...')
    .option('--port <port>', "the service's port, or several with commas between; those of the containers if not given")
    .option('--target-port <port>', "the pods' port, by number or name; the same as the service's if not given")
    .addOption(new Option('--protocol <protocol>', 'of all ports; TCP if nothing says another').choices(['TCP', 'UDP']))
    .option('--name <name>', "the service's name; the object's if not given")
    .addOption(new Option('--type <type>', 'who reaches it').choices(['ClusterIP', 'NodePort', 'LoadBalancer']))
    .option('--selector <labels>', 'the pods, e.g. app=web,tier=front; those of the object if not given')
    .option('-l, --labels <labels>', "the service's labels; the object's if not given")
    .option('--cluster-ip <address>', 'its address, or "None" for a headless service; the server chooses one if not given')
    .option('--external-ip <addresses>', 'addresses of nodes that also accept connections for it')
    .option('--load-balancer-ip <address>', 'with --type LoadBalancer: the address that the load balancer should have')
    .addOption(new Option('--session-affinity <affinity>', 'which pod a client reaches').choices(['None', 'ClientIP']))
    .action(async (words: string[], flags: Flags, own: Command) => {
      const printer = await WritePrinter.for(flags);
      await withSession(own, (session) => exposeAll(session, words, flags, printer));
    });
  withWriteFlags(withManifestFlags(command, 'what these manifests name'));
}

async function exposeAll(session: Session, words: readonly string[], flags: Flags, printer: WritePrinter): Promise<void> {
  const [{ checkExposable, exposedService }, { createObject }, { kindNamed }] = await Promise.all([
    import('../generators/expose.ts'),
    import('../write/write-object.ts'),
    import('../../api/kinds/index.ts'),
  ]);
  // --selector is the service's, and chooses nothing here.
  const { filename, recursive } = flags;
  const { targets, failed } = await findTargets(
    session,
    words,
    { ...(filename && { filename, recursive: recursive === true }) },
    'expose',
  );
  for (const { kind } of targets) checkExposable(kind);
  if (flags.name !== undefined && targets.length > 1) throw badRequest('--name is for one service');
  let errors = failed;
  for (const { kind, key } of targets) {
    try {
      const object = exposedService(kind, await session.client.objects.get(kindWord(kind), key), flags);
      const of = { ...session, namespace: key.namespace ?? session.namespace };
      await printer.print(kindNamed('Service'), await createObject(of, object, flags, 'berth-expose'), 'exposed');
    } catch (error) {
      errors++;
      process.stderr.write(`error: ${describeFailure(error)}\n`);
    }
  }
  if (errors > 0) throw new ExitWith(1);
}

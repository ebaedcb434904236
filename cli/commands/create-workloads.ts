import { type Command, Option } from 'commander';
import { badRequest } from '../../api/errors/index.ts';
import { parseObjectArgument } from '../args/resource-args.ts';
import { collect } from '../generators/pairs.ts';
import type { QuotaFlags } from '../generators/quota.ts';
import type { ServiceFlags, serviceTypes } from '../generators/service.ts';
import type { CronJobFlags, DeploymentFlags, JobFlags } from '../generators/workloads.ts';
import { withSession } from '../session.ts';
import { addGenerator } from '../write/generated-noun.ts';
import { type WriteFlags, withWriteFlags } from '../write/write-options.ts';

/** The nouns of `create` for what runs pods, and what bounds and finds them. */
export function registerWorkloadNouns(command: Command): void {
  addGenerator(
    command
      .command('deployment')
      .alias('deploy')
      .description('Create a Deployment that runs an image')
      .requiredOption('--image <image>', 'the image; several make a container each', collect)
      .option('--port <number>', 'a port that the first container listens on')
      .option('-r, --replicas <count>', 'how many pods', '1'),
    (make, name, flags: DeploymentFlags, words) => make.deploymentObject(name, words, flags),
    { takesCommand: true },
  );
  registerJob(command);
  addGenerator(
    command
      .command('cronjob')
      .alias('cj')
      .description('Create a CronJob that runs an image on a schedule')
      .requiredOption('--image <image>', 'the image')
      .requiredOption('--schedule <schedule>', 'when: minute, hour, day of month, month, day of week, e.g. "*/5 * * * *"')
      .addOption(
        new Option('--restart <policy>', 'what becomes of a container that failed')
          .choices(['OnFailure', 'Never'])
          .default('OnFailure'),
      ),
    (make, name, flags: CronJobFlags, words) => make.cronJobObject(name, words, flags),
    { takesCommand: true },
  );
  addGenerator(
    command
      .command('quota')
      .alias('resourcequota')
      .description('Create a ResourceQuota: what all objects of a namespace may use together')
      .option('--hard <amounts>', 'the bounds: cpu=1,memory=1Gi,pods=10')
      .option('--scopes <scopes>', 'only for pods of all of these scopes: BestEffort,NotTerminating'),
    (make, name, flags: QuotaFlags) => make.quotaObject(name, flags),
  );
  registerService(command);
}

function registerJob(command: Command): void {
  const job = command
    .command('job')
    .description('Create a Job that runs an image once, or a job of a CronJob now')
    .argument('<name>', 'its name')
    .argument('[command...]', 'behind --: the command of the container')
    .option('--image <image>', 'the image')
    .option('--from <cronjob>', 'instead: cronjob/NAME, which has the rest');
  withWriteFlags(job).action(async (name: string, words: string[], _own: unknown, own: Command) => {
    const flags = own.optsWithGlobals<JobFlags & WriteFlags>();
    const [make, { createGenerated }] = await Promise.all([
      import('../generators/workloads.ts'),
      import('../write/write-object.ts'),
    ]);
    make.checkJobFlags(words, flags);
    const from = flags.from === undefined ? undefined : cronJobNamed(flags.from);
    await withSession(own, async (session) => {
      const object =
        from === undefined
          ? make.jobObject(name, words, flags.image!)
          : make.jobOfCronJob(name, await session.client.objects.get('CronJob', { namespace: session.namespace, name: from }));
      await createGenerated(session, object, flags, 'berth-create');
    });
  });
}

function cronJobNamed(word: string): string {
  const { kind, name } = parseObjectArgument(word, 'cronjob');
  if (kind.kind !== 'CronJob') throw badRequest(`--from takes cronjob/NAME, not "${word}"`);
  return name;
}

const typeTexts: Readonly<Record<keyof typeof serviceTypes, string>> = {
  clusterip: 'with an address in the cluster',
  nodeport: 'with a port on every node',
  loadbalancer: 'with a load balancer',
  externalname: 'that stands for a DNS name',
};

function registerService(command: Command): void {
  const service = command
    .command('service')
    .alias('svc')
    .description('Create a Service')
    .usage('clusterip|nodeport|loadbalancer|externalname NAME [flags]');
  for (const type of Object.keys(typeTexts) as (keyof typeof serviceTypes)[]) {
    const noun = service
      .command(type)
      .description(typeTexts[type])
      .option('--tcp <port>', 'PORT[:TARGETPORT]; may be given several times', collect);
    if (type === 'clusterip') noun.option('--clusterip <address>', 'its address; None for none');
    if (type === 'nodeport') noun.option('--node-port <number>', 'the port on every node');
    if (type === 'externalname') noun.requiredOption('--external-name <name>', 'the DNS name');
    addGenerator(noun, (make, name, flags: ServiceFlags) => make.serviceObject(name, type, flags));
  }
}

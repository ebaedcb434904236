import type { Command } from 'commander';
import { nearestWord } from '../../api/codec/nearest.ts';
import type { ManifestObject } from '../../api/codec/yaml.ts';
import { badRequest } from '../../api/errors/index.ts';
import { kindWord } from '../../api/kinds/custom/kind-word.ts';
import { kindOf } from '../../api/kinds/index.ts';
import { notYetReason } from '../../api/kinds/not-yet.ts';
import type { DataFlags } from '../generators/data.ts';
import type { IngressFlags } from '../generators/ingress.ts';
import type { RegistryFlags, TlsFlags } from '../generators/objects.ts';
import { collect } from '../generators/pairs.ts';
import type { BudgetFlags, PriorityClassFlags } from '../generators/priority.ts';
import type { BindingFlags, RoleFlags } from '../generators/rbac.ts';
import type { ManifestPlan } from '../manifests/each-manifest.ts';
import type { ManifestFlags } from '../manifests/manifests.ts';
import { insteadOf } from '../program/foreign-flags.ts';
import { type Session, withSession } from '../session.ts';
import { registerCreateUser } from '../user/command.ts';
import { registerCreateToken } from '../user/create-token.ts';
import { addGenerator } from '../write/generated-noun.ts';
import { type WriteFlags, WritePrinter, withManifestFlags, withWriteFlags, writeOptions } from '../write/write-options.ts';
import { registerWorkloadNouns } from './create-workloads.ts';

type CreateFlags = WriteFlags & Partial<ManifestFlags>;

/** `create -f` makes what manifests say; `create NOUN NAME` makes a simple object from flags. */
export function registerCreate(program: Command): void {
  const command = program
    .command('create')
    .description('Create objects from manifests or flags; an existing object is an error')
    .usage('-f FILE | NOUN NAME [flags] | secret|service TYPE NAME [flags]')
    .argument('[noun...]')
    // `create ingressclass web --rule=x` is answered with what `create` makes,
    // not with the first flag that such a thing would have.
    .allowUnknownOption()
    .action(async ([noun]: string[], flags: CreateFlags, command: Command) => {
      if (noun !== undefined) throw unknownNoun(noun, command);
      if (!flags.filename) throw badRequest('say what to create: -f FILE, or a noun that --help lists, with a name');
      await createManifests({ ...flags, filename: flags.filename }, command);
    });
  withWriteFlags(withManifestFlags(command, 'file, folder, or - for standard input'));

  addGenerator(command.command('namespace').alias('ns').description('Create a namespace'), (make, name) =>
    make.namespaceObject(name),
  );
  addGenerator(
    withDataFlags(command.command('configmap').alias('cm').description('Create a ConfigMap from values and files')),
    (make, name, flags: DataFlags) => make.configMapObject(name, flags),
  );
  withPriorityClass(command.command('priorityclass').alias('pc').description('Create a PriorityClass'));
  withBudget(command.command('poddisruptionbudget').alias('pdb').description('Create a PodDisruptionBudget'));
  withIngress(command.command('ingress').alias('ing').description('Create an Ingress, for an ingress controller of yours'));
  registerWorkloadNouns(command);
  withRoles(command);
  registerCreateUser(command);
  addGenerator(command.command('serviceaccount').alias('sa').description('Create a ServiceAccount'), (make, name) =>
    make.serviceAccountObject(name),
  );
  registerCreateToken(command);
  const secret = command.command('secret').description('Create a Secret').usage('generic|tls|docker-registry NAME [flags]');
  addGenerator(
    withDataFlags(secret.command('generic').description('from values and files')).option(
      '--type <type>',
      'the type of the Secret',
    ),
    (make, name, flags: DataFlags & { readonly type?: string }) => make.genericSecret(name, flags),
  );
  addGenerator(
    secret
      .command('tls')
      .description('from a certificate and its key')
      .requiredOption('--cert <file>', 'the certificate, PEM')
      .requiredOption('--key <file>', 'the private key, PEM'),
    (make, name, flags: TlsFlags) => make.tlsSecret(name, flags),
  );
  addGenerator(
    secret
      .command('docker-registry')
      .description('with the credentials of an image registry')
      .option('--docker-server <address>', 'the registry', 'https://index.docker.io/v1/')
      .option('--docker-username <name>', 'the user')
      .option('--docker-password <password>', 'the password')
      .option('--docker-email <address>', 'the e-mail address')
      .option('--from-file <path>', "instead: a config.json of Docker's", collect),
    (make, name, flags: RegistryFlags) => make.registrySecret(name, flags),
  );
}

function withPriorityClass(command: Command): void {
  addGenerator(
    command
      .option('--value <number>', 'the priority of its pods; higher is more important', '0')
      .option('--global-default', 'the class of pods that name none')
      .option('--description <text>', 'when to use it')
      .option('--preemption-policy <policy>', 'PreemptLowerPriority (the default) or Never'),
    (make, name, flags: PriorityClassFlags) => make.priorityClassObject(name, flags),
  );
}

function withBudget(command: Command): void {
  addGenerator(
    command
      .option('--selector <labels>', 'which pods: app=web and the like')
      .option('--min-available <number>', 'so many of them, or such a part (50%), must stay')
      .option('--max-unavailable <number>', 'so many of them, or such a part (50%), may be away'),
    (make, name, flags: BudgetFlags) => make.budgetObject(name, flags),
  );
}

function withIngress(command: Command): void {
  addGenerator(
    command
      .option(
        '--rule <rule>',
        'HOST/PATH=SERVICE:PORT[,tls[=SECRET]]; "*" behind the path: longer ones, too; may be given several times',
        collect,
      )
      .option('--class <name>', 'the IngressClass')
      .option('--default-backend <service:port>', 'where requests go that no rule is for')
      .option('--annotation <key=value>', 'an annotation; may be given several times', collect),
    (make, name, flags: IngressFlags) => make.ingressObject(name, flags),
  );
}

function withRoles(command: Command): void {
  const rules = (made: Command): Command =>
    made
      .option('--verb <verb>', 'what may be done: get,list,watch; may be given several times', collect)
      .option('--resource <resource>', 'with what: pods,pods/log; may be given several times', collect)
      .option('--resource-name <name>', 'only with objects of this name; may be given several times', collect);
  const subjects = (made: Command): Command =>
    made
      .option('--clusterrole <name>', 'the cluster role to give')
      .option('--user <name>', 'a user to grant it to; may be given several times', collect)
      .option('--group <name>', 'a group to grant it to; may be given several times', collect)
      .option('--serviceaccount <namespace:name>', 'a service account to grant it to; may be given several times', collect);
  addGenerator(
    rules(command.command('role').description('Create a Role: what may be done in one namespace')),
    (make, name, flags: RoleFlags) => make.roleObject(name, flags),
  );
  addGenerator(
    rules(command.command('clusterrole').description('Create a ClusterRole: what may be done everywhere'))
      .option('--non-resource-url <path>', 'a non-resource URL path; may be given several times', collect)
      .option('--aggregation-rule <labels>', 'aggregated from all cluster roles with these labels: a=b,c=d'),
    (make, name, flags: RoleFlags) => make.clusterRoleObject(name, flags),
  );
  addGenerator(
    subjects(command.command('rolebinding').description('Grant a role in one namespace')).option(
      '--role <name>',
      'the role of the namespace to give',
    ),
    (make, name, flags: BindingFlags) => make.roleBindingObject(name, flags),
  );
  addGenerator(
    subjects(command.command('clusterrolebinding').description('Grant a cluster role in all namespaces')),
    (make, name, flags: BindingFlags) => make.clusterRoleBindingObject(name, flags),
  );
}

function withDataFlags(command: Command): Command {
  return command
    .option('--from-literal <key=value>', 'an entry; may be given several times', collect)
    .option('--from-file <path>', 'FILE, KEY=FILE or a folder; may be given several times', collect)
    .option('--from-env-file <path>', 'a file of lines KEY=VALUE; may be given several times', collect);
}

/** What is made by a command of its own. */
const otherwise: Readonly<Record<string, string>> = { Pod: 'run', HorizontalPodAutoscaler: 'autoscale' };

function unknownNoun(noun: string, command: Command): Error {
  if (noun.startsWith('-')) return badRequest(`unknown option '${noun}'; ${insteadOf(noun) ?? '--help says how to use it'}`);
  const notYet = notYetReason(noun);
  if (notYet !== undefined) return badRequest(notYet);
  const other = otherwise[kindOf(noun)?.kind ?? ''];
  if (other !== undefined) return badRequest(`create does not make ${kindOf(noun)?.plural}: "berth ${other}" does`);
  const nouns = command.commands.map((each) => each.name());
  const close = nearestWord(noun, nouns);
  const hint = close ? `did you mean "${close}"?` : 'everything else comes from a manifest: create -f FILE';
  return badRequest(`create makes ${nouns.join(', ')}, not "${noun}"; ${hint}`);
}

async function createManifests(flags: WriteFlags & ManifestFlags, command: Command): Promise<void> {
  const printer = await WritePrinter.for(flags);
  const { readManifests } = await import('../manifests/manifests.ts');
  const { writeManifests } = await import('../manifests/each-manifest.ts');
  const documents = await readManifests(flags);
  await withSession(command, (session) =>
    writeManifests(session, documents, {
      plan: (document) => planCreate(session, document, flags),
      print: ({ kind }, object, done) => printer.print(kind, object, done),
    }),
  );
}

async function planCreate(session: Session, document: ManifestObject, flags: WriteFlags): Promise<ManifestPlan> {
  const { manifestNamespace } = await import('../manifests/each-manifest.ts');
  const { toJson } = await import('../../api/codec/json.ts');
  const { kind, object } = document;
  const namespace = manifestNamespace(session, document);
  const wanted = toJson(kind, { ...object, metadata: { ...object.metadata, namespace } });
  if (flags.dryRun === 'client') return { object: wanted, done: 'created' };
  const options = { ...writeOptions(flags, 'berth-create'), fieldValidation: 'Strict', namespace };
  return { write: { verb: 'create', kind: kindWord(kind), object: wanted, options }, done: () => 'created' };
}

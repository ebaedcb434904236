import type { Command } from 'commander';
import { badRequest } from '../../api/errors/index.ts';
import type { JsonObject } from '../../api/meta/merge-patch.ts';
import { parseDuration } from '../args/duration.ts';
import { collect } from '../generators/pairs.ts';
import { type GlobalFlags, type Session, withSession } from '../session.ts';

interface UserFlags extends GlobalFlags {
  readonly group?: readonly string[];
  readonly role?: string;
  readonly clusterrole?: string;
  readonly allNamespaces?: boolean;
  readonly expires: string;
  readonly file?: string;
}

/** As Kubernetes' signer; a year is the longest that the server signs for. */
const leastSeconds = 600;

export function registerCreateUser(create: Command): void {
  create
    .command('user')
    .description('Make a user: a client certificate, and a context that is ready to use with it')
    .argument('<name>', 'the user')
    .option('--group <name>', 'a group the user is in; may be given several times', collect)
    .option('--clusterrole <name>', 'give the user this cluster role in the namespace: view, edit, admin, ...')
    .option('--role <name>', 'give the user this role of the namespace')
    .option('-A, --all-namespaces', 'give the cluster role everywhere')
    .option('--expires <span>', 'the lifetime of the certificate, at most a year', '365d')
    .option('--file <path>', 'write a configuration for the user to take away, not a context of your own')
    .action(async (name: string, _own: unknown, command: Command) => {
      // `create` itself takes some of the same flags, and gets them first.
      const flags = command.optsWithGlobals<UserFlags>();
      checkFlags(flags);
      await withSession(command, (session) => createUser(session, name, flags));
    });
}

function checkFlags({ role, clusterrole, allNamespaces }: UserFlags): void {
  if (role !== undefined && clusterrole !== undefined) throw badRequest('give either --role or --clusterrole');
  if (allNamespaces && clusterrole === undefined)
    throw badRequest('-A gives a cluster role everywhere: say which with --clusterrole');
}

async function createUser(session: Session, name: string, flags: UserFlags): Promise<void> {
  const { configPath, listContexts, loadContext, upsertContext } = await import('../../client/index.ts');
  const { issueUserCertificate } = await import('./create-user.ts');
  const expirationSeconds = Math.floor(parseDuration(flags.expires) / 1_000);
  if (expirationSeconds < leastSeconds)
    throw badRequest(`--expires ${flags.expires}: a certificate is good for 10 minutes at least`);
  const path = flags.file ?? configPath();
  const known = await listContexts(path);
  if (known.some((context) => context.name === name))
    throw badRequest(
      `${path} has a context "${name}": forget it with "berth config delete-context ${name}", or name a file with --file`,
    );
  // First: a role that one may not give, or that is not there, leaves no certificate behind.
  const given = await bindRole(session, name, flags);
  const credentials = await issueUserCertificate(session.client, { name, groups: flags.group ?? [], expirationSeconds });
  const { options } = await loadContext(flags.context);
  const context = { address: options.address, ca: options.ca, ...credentials };
  await upsertContext({ name, options: context, namespace: session.namespace, use: flags.file !== undefined }, path);
  const use = flags.file === undefined ? `berth --context ${name} get pods` : `BERTH_CONFIG=${path} berth get pods`;
  process.stdout.write(`user ${name} created${given}\ntry it: ${use}\n`);
  if (given === '' && !flags.group?.length)
    process.stderr.write(
      `Warning: nothing allows "${name}" anything yet: berth create rolebinding ${name} --clusterrole=view --user=${name}\n`,
    );
}

/** Gives the role that the flags name; answers what was given, for people. */
async function bindRole({ client, namespace }: Session, user: string, flags: UserFlags): Promise<string> {
  const role = flags.clusterrole ?? flags.role;
  if (role === undefined) return '';
  const { clusterRoleBindingObject, roleBindingObject } = await import('../generators/rbac.ts');
  const name = `${user}-${role}`;
  const given = { user: [user], ...(flags.role === undefined ? { clusterrole: role } : { role }) };
  if (flags.allNamespaces) {
    await client.objects.create('ClusterRoleBinding', clusterRoleBindingObject(name, given));
    return `, with the cluster role ${role} everywhere`;
  }
  const binding = roleBindingObject(name, given);
  binding.metadata = { ...(binding.metadata as JsonObject), namespace };
  await client.objects.create('RoleBinding', binding);
  return `, with the role ${role} in the namespace ${namespace}`;
}

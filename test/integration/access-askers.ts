import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { formatToken } from '../../apiserver/authn/tokens.ts';
import type { ServerOptions } from '../../apiserver/main.ts';
import { type RunningServer, startServer } from './apiserver-harness.ts';

/** The columns: callers. `role` is bound in the namespace "default", or with `everywhere` in the cluster. */
export const askers = [
  { who: 'known', user: 'guest', groups: [] },
  { who: 'view', user: 'viewer', groups: [], role: 'view' },
  { who: 'edit', user: 'editor', groups: [], role: 'edit' },
  { who: 'admin', user: 'owner', groups: [], role: 'admin' },
  { who: 'cluster-admin', user: 'root', groups: [], role: 'cluster-admin', everywhere: true },
  { who: 'scheduler', user: 'system:kube-scheduler', groups: [] },
  { who: 'controllers', user: 'system:kube-controller-manager', groups: [] },
  { who: 'node', user: 'system:node:n1', groups: ['system:nodes'] },
  { who: 'joining', user: 'system:bootstrap:abcdef', groups: ['system:bootstrappers'] },
];

/** A server that knows them: the token of each is its name. */
export async function startAskedServer(options: Partial<ServerOptions> = {}): Promise<RunningServer> {
  const first = await startServer();
  await first.stop();
  const file = join(first.dataDir, 'pki', 'tokens');
  const lines = askers.map(({ who, user, groups }) => formatToken(who, { user, groups }));
  await writeFile(file, (await readFile(file, 'utf8')) + lines.join(''));
  const server = await startServer({ ...options, dataDir: first.dataDir });
  for (const { user, role, everywhere } of askers) {
    if (role === undefined) continue;
    const binding = { roleRef: { kind: 'ClusterRole', name: role }, subjects: [{ kind: 'User', name: user }] };
    if (everywhere) await server.client.clusterRoleBindings.create({ ...binding, metadata: { name: user } });
    else await server.client.roleBindings.create({ ...binding, metadata: { namespace: 'default', name: user } });
  }
  return server;
}

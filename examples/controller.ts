// Gives every namespace with the annotation example.com/contact a ConfigMap "team" that its pods can read the contact
// from.
import { realpathSync } from 'node:fs';
import { type Client, connect, createInformer, createWorkQueue, loadContext } from 'berth';

export async function runController(client: Client, signal: AbortSignal): Promise<void> {
  const namespaces = createInformer({ name: 'namespaces', client: client.namespaces });
  const teams = createInformer({ name: 'teams', client: client.configMaps, scope: { fieldSelector: 'metadata.name=team' } });
  const queue = createWorkQueue({ name: 'teams' });

  // Events only say which namespace to look at; what to do there follows from what is, however it came to be.
  const wake = (namespace = '') => queue.add(namespace);
  namespaces.addHandler({ onAdd: (it) => wake(it.metadata?.name), onUpdate: (it) => wake(it.metadata?.name) });
  teams.addHandler({ onUpdate: (it) => wake(it.metadata?.namespace), onDelete: (it) => wake(it.metadata?.namespace) });

  async function reconcile(name: string): Promise<void> {
    const namespace = namespaces.lister.get(name);
    const contact = namespace?.metadata?.annotations?.['example.com/contact'];
    if (contact === undefined || namespace?.metadata?.deletionTimestamp) return;
    const team = teams.lister.get(`${name}/team`);
    if (!team) await client.configMaps.create({ metadata: { namespace: name, name: 'team' }, data: { contact } });
    else if (team.data?.contact !== contact)
      await client.configMaps.patch({ namespace: name, name: 'team' }, { data: { contact } });
  }

  const following = Promise.all([namespaces.run(signal), teams.run(signal)]);
  await Promise.all([namespaces.waitForSync(signal), teams.waitForSync(signal)]);
  await Promise.all([following, queue.run(2, reconcile, signal)]);
}

// True when node was started with this file, by whichever path, and false when a test imports it.
if (realpathSync(process.argv[1] ?? '') === import.meta.filename) {
  const stop = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => stop.abort());
  const client = connect({ ...(await loadContext()).options, userAgent: 'team-controller' });
  await runController(client, stop.signal).finally(() => client.close());
}

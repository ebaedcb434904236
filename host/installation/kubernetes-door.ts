import { readServerVersion } from '../../cli/version/show-versions.ts';
import type { Client } from '../../client/index.ts';
import { defaultKubernetesListen } from '../flags/server-flags.ts';
import type { Steps } from '../steps.ts';
import type { Settings } from './up-settings.ts';

/**
 * Where the server that runs serves Kubernetes' HTTP API: none while it does not. Undefined for a server that is older,
 * or does not answer.
 */
async function kubernetesAddresses(client: Client): Promise<readonly string[] | undefined> {
  try {
    return (await readServerVersion(client.pages)).kubernetesAddresses;
  } catch {
    // What the caller does next meets the same server, and tells what is wrong with it.
    return undefined;
  }
}

/** Tells where kubectl reaches the server; a warning where another program has the default address. */
export async function tellKubernetes(client: Client, { passed }: Pick<Settings, 'passed'>, steps: Steps): Promise<void> {
  const [own, besides] = (await kubernetesAddresses(client)) ?? ['unknown'];
  if (own === 'unknown' || passed?.['--kubernetes-listen']?.[0] === 'off') return;
  if (own !== undefined) steps.ok(`Kubernetes' API on ${own}${besides === undefined ? '' : `, for others at ${besides}`}`);
  else
    steps.warn(
      `kubectl and helm do not reach this server: another program listens on ${defaultKubernetesListen}`,
      'berth down, then berth up --kubernetes-listen 127.0.0.1:PORT with a free port, or "off" for none',
    );
}

/** What users of kubectl do next: nothing where the server does not serve them. */
export async function nextForKubectl(dataDir: string, listen: string): Promise<readonly string[]> {
  const { connectAsAdmin } = await import('../processes/readiness.ts');
  const client = connectAsAdmin(dataDir, listen);
  const addresses = client && (await kubernetesAddresses(client).finally(() => client.close()));
  return addresses?.length ? ['  berth kubeconfig --merge  let kubectl and helm use it; then: kubectl get nodes'] : [];
}

import { conflict } from '../../api/errors/index.ts';
import type { Pod } from '../../api/generated/types.ts';
import type { PodClient } from '../../client/client.ts';
import { createFakeResourceClient, type FakeResourceClient, type FakeResourceClientOptions } from './fake-resource-client.ts';

/** A call of bind, as it came in. */
export interface FakeBinding {
  readonly pod: string;
  readonly nodeName: string;
}

export interface FakePodClient extends FakeResourceClient<Pod>, Pick<PodClient, 'bind' | 'bindStream'> {
  readonly bindings: FakeBinding[];
  /** The next `times` (default 1) binds throw this. */
  failNextBind(error: Error, times?: number): void;
}

/** A fake client for pods that binds once, as the server does. Logs and commands are faked where the runtime is. */
export function createFakePodClient(options: Partial<FakeResourceClientOptions<Pod>> = {}): FakePodClient {
  const base = createFakeResourceClient<Pod>({ kind: 'Pod', ...options });
  const bindings: FakeBinding[] = [];
  const failures: Error[] = [];
  const bind: PodClient['bind'] = async (key, nodeName) => {
    const name = `${key.namespace}/${key.name}`;
    bindings.push({ pod: name, nodeName });
    const failure = failures.shift();
    if (failure) throw failure;
    const old = base.stored(name) ?? (await base.get(key));
    if (key.uid !== undefined && key.uid !== old.metadata?.uid)
      throw conflict({ kind: 'Pod', ...key }, `has another uid than ${key.uid}`);
    if (old.spec?.nodeName) throw conflict({ kind: 'Pod', ...key }, `is already bound to node "${old.spec.nodeName}"`);
    return base.put({ ...old, spec: { ...old.spec, nodeName } });
  };
  const fake: FakePodClient = Object.defineProperties(
    {
      bindings,
      bind,
      bindStream: () => ({
        async bind(...call) {
          const { metadata } = await fake.bind(...call);
          return { resourceVersion: metadata?.resourceVersion ?? '' };
        },
        async close() {},
      }),
      failNextBind: (error: Error, times = 1) => void failures.push(...Array<Error>(times).fill(error)),
    } as FakePodClient,
    Object.getOwnPropertyDescriptors(base),
  );
  return fake;
}

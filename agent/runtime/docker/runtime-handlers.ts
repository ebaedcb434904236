import { basename } from 'node:path';
import { RuntimeError } from '../runtime-error.ts';

/** A runtime of the engine's configuration, as its info has it. */
export interface HandlerEntry {
  readonly path?: string;
  /** Of a shim: "io.containerd.kata.v2". */
  readonly runtimeType?: string;
  /** What the runtime itself says (`runc features`), as JSON. */
  readonly status?: Readonly<Record<string, string>>;
}

interface EngineHandlers {
  readonly Runtimes?: Readonly<Record<string, HandlerEntry>>;
  readonly DefaultRuntime?: string;
}

const features = 'org.opencontainers.runtime-spec.features';
/** Programs that give a container a network namespace of the kernel's, and nothing of their own before it. */
const usual = ['runc', 'crun', 'youki', 'sysbox-runc', 'nvidia-container-runtime', 'runtime.v1.linux'];
/** They have a network of their own, which is made from what they find when the sandbox starts. */
const reading = /(^|[./-])(runsc|kata|gvisor)/;

/**
 * Whether containers of a runtime see an interface that their namespace gets after their start. What a runtime says of
 * itself counts before its name; one of which nothing is known does not.
 */
export function seesLaterInterfaces(handler: string, { path = '', runtimeType = '', status = {} }: HandlerEntry = {}): boolean {
  const type = runtimeType || (path === '' ? handler : '');
  const program = type === '' ? basename(path) : type.replace(/^io\.containerd\./, '').replace(/(?<!runtime)\.v\d+$/, '');
  if (reading.test(program)) return false;
  return usual.includes(program) || namespacesOf(status[features]).includes('network');
}

function namespacesOf(text = '{}'): readonly string[] {
  try {
    const { linux } = JSON.parse(text) as { readonly linux?: { readonly namespaces?: unknown } };
    return Array.isArray(linux?.namespaces) ? linux.namespaces.map(String) : [];
  } catch {
    return [];
  }
}

/** Whether the engine finds a runtime by its name alone, by the name or the path of a program of containerd. */
const isShim = (name: string): boolean => /^io\.containerd\.|^\//.test(name);

/** Of handlers by name, what is so old is read again: the engine reloads its configuration without a restart. */
const freshMs = 10_000;

/** Refuses sandboxes of runtimes that would have no network in the routed one. */
export class RuntimeHandlers {
  readonly #read: () => Promise<EngineHandlers>;
  readonly #now: () => number;
  #known: { readonly at: number; readonly handlers: EngineHandlers } | undefined;

  constructor(read: () => Promise<EngineHandlers>, now: () => number = () => performance.now()) {
    this.#read = read;
    this.#now = now;
  }

  /** After the engine was away: it may have come back with another default. */
  forget(): void {
    this.#known = undefined;
  }

  /** `handler`: of the pod's RuntimeClass; undefined: the engine's default. @throws RuntimeError */
  async requireJoinable(handler: string | undefined): Promise<void> {
    const isFresh = this.#known !== undefined && (handler === undefined || this.#now() - this.#known.at < freshMs);
    if (!isFresh) this.#known = { at: this.#now(), handlers: await this.#read() };
    const { Runtimes = {}, DefaultRuntime = 'runc' } = this.#known!.handlers;
    const name = handler ?? DefaultRuntime;
    if (handler !== undefined && Runtimes[name] === undefined && !isShim(name))
      throw new RuntimeError('invalid', `the engine has no runtime "${name}", which the pod's RuntimeClass names`);
    if (seesLaterInterfaces(name, Runtimes[name])) return;
    const of = handler === undefined ? ", which is the engine's default," : " of the pod's RuntimeClass";
    throw new RuntimeError(
      'invalid',
      `the runtime "${name}"${of} reads its network when it starts, before the routed network joins the pod: it would have none; use a runtime such as runc or crun, hostNetwork, or a node with --pod-network engine`,
    );
  }
}

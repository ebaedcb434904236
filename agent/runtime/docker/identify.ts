import { RuntimeError } from '../runtime-error.ts';
import { createEngine } from './engine.ts';
import { label } from './labels.ts';

/** What the Docker Engine says of itself, as far as Berth relies on it. */
export interface EngineIdentity {
  readonly version: string;
  readonly apiVersion: string;
  readonly cgroupVersion: 1 | 2;
  /** "none": the engine cannot limit what containers use. */
  readonly cgroupDriver: string;
  readonly limitsMemory: boolean;
  readonly limitsCpu: boolean;
  readonly rootDir: string;
  readonly rootless: boolean;
  /** How many containers carry the node's label. */
  readonly containersOfNode: number;
}

export type EngineAnswer =
  | ({ readonly kind: 'answers' } & EngineIdentity)
  /** `errno` is the system's code of the failed connection, where there is one. */
  | { readonly kind: 'silent'; readonly errno: string | undefined; readonly words: string }
  /** It has no API version in common with Berth. */
  | { readonly kind: 'wrong-version'; readonly words: string };

interface Info {
  readonly ServerVersion: string;
  readonly CgroupDriver: string;
  readonly CgroupVersion?: string;
  readonly MemoryLimit?: boolean;
  readonly CpuCfsQuota?: boolean;
  readonly DockerRootDir: string;
  readonly SecurityOptions?: readonly string[] | null;
}

const timeoutMs = 10_000;

/** Identifies the engine; never throws because of its answer or silence. */
export async function identifyEngine(nodeName: string, socketPath?: string): Promise<EngineAnswer> {
  const engine = createEngine({ socketPath, timeoutMs });
  try {
    const apiVersion = await engine.apiVersion();
    const info = await engine.call<Info>({ method: 'GET', path: '/info', action: 'get engine info' });
    const filters = { label: [`${label.node}=${nodeName}`] };
    const containers = await engine.call<unknown[]>({
      method: 'GET',
      path: '/containers/json',
      query: { all: 1, filters },
      action: 'list containers',
    });
    return { kind: 'answers', ...identityOf(info), apiVersion, containersOfNode: containers.length };
  } catch (error) {
    if (!(error instanceof RuntimeError)) throw error;
    return error.code === 'invalid'
      ? { kind: 'wrong-version', words: error.message }
      : { kind: 'silent', errno: errnoOf(error), words: error.message };
  } finally {
    engine.close();
  }
}

function identityOf(info: Info): Omit<EngineIdentity, 'apiVersion' | 'containersOfNode'> {
  return {
    // Distributions append their own build to the version: 20.10.24+dfsg1.
    version: info.ServerVersion.replace(/\+.*$/, ''),
    cgroupVersion: info.CgroupVersion === '2' ? 2 : 1,
    cgroupDriver: info.CgroupDriver,
    limitsMemory: info.MemoryLimit !== false,
    limitsCpu: info.CpuCfsQuota !== false,
    rootDir: info.DockerRootDir,
    rootless: (info.SecurityOptions ?? []).some((option) => option.startsWith('name=rootless')),
  };
}

function errnoOf(error: RuntimeError): string | undefined {
  const { cause } = error;
  return cause instanceof Error && 'code' in cause && typeof cause.code === 'string' ? cause.code : undefined;
}

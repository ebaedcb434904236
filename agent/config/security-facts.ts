import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Container, Pod, RuntimeClass } from '../../api/generated/types.ts';
import type { DeviceBook } from '../pod/devices.ts';
import type { PodEvents } from '../pod/pod-events.ts';
import type { ImageService, ObservedContainer } from '../runtime/runtime.ts';
import type { EtcFiles } from '../volumes/etc-files.ts';
import { ContainerConfigError } from './config-error.ts';
import type { KnownObjects } from './known-objects.ts';
import { localhostSeccomp, needsImageUser, type SecurityFacts } from './security.ts';

/**
 * What the machine knows and a container's security depends on. Asked before each start of a container;
 * asks the engine only where it must.
 */
export interface SecuritySource {
  /**
   * The engine's runtime that the pod's class names; undefined: the default. Throws ContainerConfigError when there is
   * no such class, ApiError when the server is away and has never told it.
   */
  runtimeHandler(pod: Pod): Promise<string | undefined>;
  /** Throws ContainerConfigError for a profile that cannot be read, RuntimeError when the engine is away. */
  facts(pod: Pod, container: Container, sandbox: Pick<ObservedContainer, 'ip'>): Promise<SecurityFacts>;
  /** The start for which `facts` was asked has ended, well or not. */
  settled(pod: Pod, container: Container): void;
}

export interface SecuritySourceOptions {
  readonly images: Pick<ImageService, 'find'>;
  /** The folder that profiles of type Localhost are named in. */
  readonly seccompDir: string;
  readonly etcFiles: EtcFiles;
  readonly devices: DeviceBook;
  readonly events: PodEvents;
  readonly runtimeClasses: KnownObjects<RuntimeClass>;
}

/** Profiles are a few tens of KiB; the engine keeps a copy of each with its container. */
const longestProfile = 1024 * 1024;

export function createSecuritySource(options: SecuritySourceOptions): SecuritySource {
  const { images, seccompDir, etcFiles, devices, events } = options;
  return {
    async runtimeHandler(pod) {
      const name = pod.spec?.runtimeClassName;
      if (!name) return undefined;
      const known = await options.runtimeClasses({ name }, 0);
      if (known === undefined) throw new ContainerConfigError(`RuntimeClass "${name}" not found`);
      return known.handler || undefined;
    },
    settled: (pod, container) => devices.settled(pod.metadata?.uid ?? '', container.name ?? ''),
    async facts(pod, container, sandbox) {
      const profile = localhostSeccomp(pod, container);
      const [image, seccompProfile, etc] = await Promise.all([
        needsImageUser(pod, container) ? images.find(container.image ?? '') : undefined,
        profile === undefined ? undefined : readProfile(seccompDir, profile),
        etcFiles.ensure(pod, sandbox.ip),
      ]);
      for (const problem of etc.problems) events(pod, 'Warning', 'DNSConfigForming', problem);
      const given = devices.give(pod.metadata?.uid ?? '', container);
      return { imageUser: image?.user, seccompProfile, files: etc.mounts, given };
    },
  };
}

async function readProfile(folder: string, name: string): Promise<string> {
  const fail = (why: string) =>
    new ContainerConfigError(`cannot load seccomp profile "${join(folder, name)}": ${why}`, 'CreateContainerError');
  // The API refuses such names; a folder of the machine's profiles is not left whatever the API says.
  if (name === '' || name.startsWith('/') || name.includes('\0') || name.split('/').includes('..'))
    throw new ContainerConfigError(`seccomp profile "${name}" is not a path below the profiles' folder`, 'CreateContainerError');
  try {
    const text = await readFile(join(folder, name), 'utf8');
    if (text.length > longestProfile) throw fail(`it has more than ${longestProfile} characters`);
    JSON.parse(text);
    return text;
  } catch (error) {
    if (error instanceof ContainerConfigError) throw error;
    if (error instanceof SyntaxError) throw fail('it is not JSON');
    const code = (error as NodeJS.ErrnoException).code;
    throw fail(code === 'ENOENT' ? 'no such file or directory' : (error as Error).message);
  }
}

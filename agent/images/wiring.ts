import type { Pod } from '../../api/generated/types.ts';
import type { Clock } from '../../client/clock.ts';
import type { EventRecorder } from '../../client/events/events.ts';
import type { Logger } from '../../client/logger.ts';
import type { ObjectSource } from '../config/objects.ts';
import { ownSandboxImage } from '../pause/sandbox-image.ts';
import { podContainers } from '../pod/pod-containers.ts';
import type { ContainerRuntime, ImageService } from '../runtime/runtime.ts';
import { createImageCollector, imageDisk } from './collector.ts';
import { createCredentialSource } from './credentials.ts';
import { createImageHolds } from './image-holds.ts';
import { createImageSource } from './images.ts';
import { createNodeCredentials } from './node-credentials.ts';
import { completeImageOptions, type ImageOptions } from './options.ts';
import type { PullRecords } from './pulled-images.ts';
import { createPulls } from './pulls.ts';

/** What the parts that have to do with images are made from. */
export interface ImageWiring {
  readonly ports: { readonly images: ImageService; readonly runtime: Pick<ContainerRuntime, 'version'> };
  readonly nodeName: string;
  readonly sandboxImage?: string | undefined;
  readonly pullRecords: PullRecords;
  readonly imageOptions?: ImageOptions | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** A Secret of a pod is at most so old: a corrected one takes effect soon. */
const secretMaxAgeMs = 5_000;

interface Parts {
  readonly objects: ObjectSource;
  readonly events: Pick<EventRecorder, 'event'>;
  /** The references that pods of this node name. */
  wanted(): readonly string[];
}

/** Wires pulls, credentials and garbage collection of images. Starts nothing. */
export function wireImages(wiring: ImageWiring, { objects, events, wanted }: Parts, signal: AbortSignal) {
  const { pullRecords: records, clock, logger } = wiring;
  const { images } = wiring.ports;
  const chosen = completeImageOptions(wiring.imageOptions);
  const holds = createImageHolds();
  const warn = (message: string) => logger.warn({}, message);
  const credentials = createCredentialSource({
    secrets: (namespace, names) => objects.secrets(namespace, names, secretMaxAgeMs),
    node: createNodeCredentials({ file: chosen.registryConfig, clock, warn }),
  });
  const { maxParallelPulls: atOnce, pullProgressDeadlineMs: patienceMs } = chosen;
  const pulls = createPulls({ images, clock, atOnce, patienceMs, signal });
  const access = { policy: chosen.verificationPolicy, allowlist: chosen.verificationAllowlist };
  const source = createImageSource({ images, pulls, records, holds, access, clock });
  const { sandboxImage = ownSandboxImage, nodeName } = wiring;
  const collector = createImageCollector({
    ...{ images, records, holds, clock, logger, nodeName, wanted, events },
    disk: imageDisk(wiring.ports.runtime),
    onRemoved: () => source.forget(),
    // Every pod needs it, also when just now there is none.
    policy: { ...chosen.collection, pinned: [...chosen.collection.pinned, sandboxImage] },
  });
  return { images: source, credentials, collector };
}

/** The references that a pod's containers name. */
export function imagesOf(pod: Pod): string[] {
  return podContainers(pod).flatMap(({ container: { image = '' } }) => (image === '' ? [] : [image]));
}

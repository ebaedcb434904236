import { type Command, InvalidArgumentError, Option } from 'commander';
import { badRequest } from '../../api/errors/index.ts';
import { parseDuration } from '../../cli/args/duration.ts';
import { collect } from '../../cli/generators/pairs.ts';

/** The agent's; a command that hands on another set does not compile. */
const policies = ['NeverVerify', 'NeverVerifyPreloadedImages', 'NeverVerifyAllowlistedImages', 'AlwaysVerify'] as const;

/** What an agent is told about images. */
export interface ImageFlags {
  readonly registryConfig?: string;
  readonly maxParallelImagePulls?: number;
  readonly imagePullProgressDeadline?: number;
  readonly imagePullCredentialsVerification?: (typeof policies)[number];
  readonly preloadedImage?: readonly string[];
  readonly imageGcHighThreshold?: number;
  readonly imageGcLowThreshold?: number;
  readonly imageMinimumGcAge?: number;
  readonly imageMaximumGcAge?: number;
  readonly imageGcScope?: 'pulled' | 'all';
  readonly pinnedImage?: readonly string[];
}

export function withImageFlags(command: Command): Command {
  return command
    .option(
      '--registry-config <file>',
      "a Docker config.json with credentials (default: what docker login of the agent's user wrote)",
    )
    .option('--max-parallel-image-pulls <number>', 'how many images are pulled at once (default: 5)', wholeNumber)
    .option(
      '--image-pull-progress-deadline <duration>',
      'cancel pulls without progress for this time (default: 1m)',
      parseDuration,
    )
    .addOption(
      new Option(
        '--image-pull-credentials-verification <policy>',
        'whose credentials are checked before an image that is here is used (default: NeverVerifyPreloadedImages)',
      ).choices(policies),
    )
    .option(
      '--preloaded-image <repository>',
      'with NeverVerifyAllowlistedImages: images that every pod may use, "quay.io/team/*" for all of a team; may be given several times',
      collect,
    )
    .option(
      '--image-gc-high-threshold <percent>',
      'remove unused images when the disk is so full; 100 for never (default: 85)',
      percent,
    )
    .option('--image-gc-low-threshold <percent>', 'until it is only so full (default: 80)', percent)
    .option('--image-minimum-gc-age <duration>', 'the minimum age of images to remove (default: 2m)', parseDuration)
    .option(
      '--image-maximum-gc-age <duration>',
      'remove images that were unused for so long; 0 for never (default: 0)',
      parseDuration,
    )
    .addOption(
      new Option('--image-gc-scope <scope>', 'remove only what Berth pulled, or all that is unused (default: pulled)').choices([
        'pulled',
        'all',
      ]),
    )
    .option('--pinned-image <image>', 'an image that is never removed; may be given several times', collect);
}

/** The agent's own defaults stand where nothing was said. */
export function imageOptionsOf(flags: ImageFlags) {
  const { imageGcHighThreshold: high = 85, imageGcLowThreshold: low = 80 } = flags;
  if (low > high) throw badRequest(`--image-gc-low-threshold ${low} must not be above --image-gc-high-threshold ${high}`);
  return {
    registryConfig: flags.registryConfig,
    maxParallelPulls: flags.maxParallelImagePulls,
    pullProgressDeadlineMs: flags.imagePullProgressDeadline,
    verificationPolicy: flags.imagePullCredentialsVerification,
    verificationAllowlist: flags.preloadedImage,
    collection: withoutUndefined({
      highPercent: flags.imageGcHighThreshold,
      lowPercent: flags.imageGcLowThreshold,
      minAgeMs: flags.imageMinimumGcAge,
      maxAgeMs: flags.imageMaximumGcAge,
      scope: flags.imageGcScope,
      pinned: flags.pinnedImage,
    }),
  };
}

/** What is undefined would stand in for a default. */
function withoutUndefined<T extends object>(values: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as never;
}

function percent(text: string): number {
  const number = Number(text);
  if (!/^\d+$/.test(text) || number > 100) throw new InvalidArgumentError('give a whole number from 0 to 100');
  return number;
}

function wholeNumber(text: string): number {
  const number = Number(text);
  if (!/^\d+$/.test(text) || number < 1) throw new InvalidArgumentError('give a whole number from 1 on');
  return number;
}

/**
 * What a container does when it is started or told to stop;
 * the default runs until it is stopped and ends on SIGTERM with code 143.
 */
export interface FakeBehaviour {
  /** Ends by itself right after it was started. */
  readonly exitsWith?: number;
  /** Cannot be started: the engine's words. */
  readonly startError?: string;
  readonly ignoresTerm?: boolean;
  readonly termExitCode?: number;
}

export type FakeMethod =
  | 'list'
  | 'runSandbox'
  | 'createContainer'
  | 'runContainer'
  | 'update'
  | 'stop'
  | 'remove'
  | 'version'
  | 'find'
  | 'pull'
  | 'load'
  | 'removeImage'
  | 'listImages'
  | 'logs'
  | 'exec'
  | 'attach'
  | 'files';

export interface FakeCall {
  readonly method: FakeMethod;
  /** "pod/container" where the call is about a container, else the image reference or the pod uid. */
  readonly target: string;
  readonly at: Date;
}

export interface FakeRuntimeOptions {
  readonly now?: () => Date;
  /** How the time of a grace period passes; by default at once. */
  readonly sleep?: (ms: number) => Promise<void>;
  /** Images present from the start; `undefined` in `pullable` means that every reference can be pulled. */
  readonly images?: readonly string[];
  readonly pullable?: readonly string[];
}

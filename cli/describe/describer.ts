import type { Session } from '../session.ts';
import type { Tree } from './json.ts';
import type { Lines } from './lines.ts';
import type { LogTails } from './log-tails.ts';

/** What a description may ask of the server beside the object itself. */
export interface DescribeContext {
  readonly session: Session;
  readonly now: Date;
  readonly logTails: LogTails;
}

/**
 * Describes objects of one kind, all but the events. First it reads what it needs beside the object; what it returns
 * then writes, and reads nothing more.
 */
export type Describer = (object: Tree, context: DescribeContext) => Promise<Description>;

export interface Description {
  (lines: Lines): void;
  /** What stands behind the events, if anything. */
  readonly afterEvents?: ((lines: Lines) => void) | undefined;
}

/** A method of a service: its path and the names of its messages. */
export interface Method {
  /** e.g. "/berth.core.v1.Pods/Get". */
  readonly path: string;
  readonly request: string;
  readonly response: string;
}

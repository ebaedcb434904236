/**
 * Why a container cannot be configured now; its message is for the user, who has to mend the pod or what it refers to.
 */
export class ContainerConfigError extends Error {
  /** What the container's status says it waits for. */
  readonly reason: string;

  constructor(message: string, reason: 'CreateContainerConfigError' | 'CreateContainerError' = 'CreateContainerConfigError') {
    super(message);
    this.name = 'ContainerConfigError';
    this.reason = reason;
  }
}

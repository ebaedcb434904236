/** Why a container cannot be configured now; its message is for the user, who has to mend the pod or what it refers to. */
export class ContainerConfigError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'ContainerConfigError';
  }
}

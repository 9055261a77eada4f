#pragma once

namespace fulgurite {

/// Turns SIGINT, SIGTERM and SIGHUP into stop requests, which a loop polls; a second one ends the process as usual.
/// Ignored signals stay ignored.
void catch_stop_signals();
/// Signals end the process again, and no request is left.
void release_stop_signals();
/// The signal that requested a stop; 0 if none did.
int stop_signal();

}  // namespace fulgurite

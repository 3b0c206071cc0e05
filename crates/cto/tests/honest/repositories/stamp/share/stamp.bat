@echo off
rem Starts stamp in the shell that comes with git.
sh "%~dp0..\bin\stamp" %*
